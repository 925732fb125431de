"""Whose work a replica does next, that of light sources or of bulk: pure policy."""

from dragoman.scheduling.policy import Tier

LIGHT_WEIGHT = 3
"""Light sources have so many parts of a replica while there are any, bulk the other one."""
STEP_ROWS = 8
"""A step costs as much besides as this many rows."""


def step_cost(num_rows: int) -> int:
    """Of a step, in rows; encoding costs about as much for each source token."""
    return num_rows + STEP_ROWS


class Turns:
    """Gives each tier its turns: one piece of work, which is a run of the encoder or a step.

    Light sources go first, so that they wait for no more than what was begun before they came. Bulk may spend
    a third of what they spend, as soon as that is enough for its next piece of work.
    """

    def __init__(self) -> None:
        self._allowance = 0.0
        """What bulk may spend beside light sources."""

    def next(self, light_cost: int, bulk_cost: int) -> Tier:
        """Whose turn it is, which is taken as done.

        Args:
            light_cost: of the next piece of work; 0 for none. Not both have none.
            bulk_cost: the same.
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
