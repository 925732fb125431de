"""The deadline of a request."""

import math
import time
from dataclasses import dataclass

from dragoman.argument_types import checks_arguments
from dragoman.errors import DeadlineExceeded


@checks_arguments
@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time after which work is cancelled."""

    timeout_s: float = math.inf
    """Time that the caller allowed, for the error message."""
    at_s: float = math.inf
    """On the clock of `time.monotonic`."""

    @classmethod
    @checks_arguments
    def after(cls, timeout_s: float) -> "Deadline":
        """Return the deadline `timeout_s` seconds from now."""
        return cls(timeout_s, time.monotonic() + timeout_s)

    def check(self) -> None:
        """Raise DeadlineExceeded if the deadline has passed."""
        if self.at_s <= time.monotonic():
            raise DeadlineExceeded(self.timeout_s)


NO_DEADLINE = Deadline()
