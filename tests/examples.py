"""How many examples the tests with random inputs try."""

import os

from hypothesis import settings

FEWEST = 2
FEW = int(os.environ.get("EXAMPLES", FEWEST))
"""Of files and requests; `make test-commands` sets more, and `make fuzz` tries any number."""
SHARE = 10
"""`make test` tries one of so many examples of a property; where FEW is more, all are tried."""


def share_of(chosen: settings) -> settings:
    """Return settings with the number of examples that is tried here."""
    num = chosen.max_examples
    return chosen if FEW > FEWEST else settings(chosen, max_examples=max(num // SHARE, min(num, FEWEST)))
