"""How many examples the tests with random requests and files try."""

import os

FEWEST = 5
FEW = int(os.environ.get("EXAMPLES", FEWEST))
"""`make test-commands` sets more, and `make fuzz` tries any number."""
