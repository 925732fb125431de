"""Turns of light and bulk sources on a replica: pure policy."""

from dragoman.scheduling.policy import Tier

LIGHT_WEIGHT = 3
"""Light sources get this many parts of a replica's time for each part of bulk, while there are any."""


class TierScheduler:
    """Chooses the tier of each next piece of work: a run of the encoder, or a step.

    Light sources go first, so that they wait only for work that was started before they came. Bulk may
    spend a third of what they spend, once that is enough for its next piece of work.
    """

    def __init__(self) -> None:
        self._allowance = 0.0
        """Cost that bulk may spend while there are light sources."""

    def next(self, light_cost: int, bulk_cost: int) -> Tier:
        """Return whose turn it is, and count it as done.

        Args:
            light_cost: cost of the next piece of light work; 0 if there is none. Not both costs are 0.
            bulk_cost: the same for bulk.
        """
        if not light_cost:
            self._allowance = 0.0
            return Tier.BULK
        if bulk_cost and self._allowance >= bulk_cost:
            self._allowance -= bulk_cost
            return Tier.BULK
        if bulk_cost:
            self._allowance += light_cost / LIGHT_WEIGHT
        return Tier.LIGHT
