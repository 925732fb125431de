"""Interrupts (Ctrl-C) that take effect between two lines, and not in the middle of an operation."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """SIGINT while lines are read and written; see `defer_interrupts`.

    Python raises KeyboardInterrupt between any two instructions of the main thread: also right after it has
    acquired a lock, and before code runs that would release it. A thread that needs the lock then waits for
    ever, and so does any thread that joins it.
    """

    def __init__(self) -> None:
        self._is_pending = False
        self._is_reading = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if one is pending."""
        if self._is_pending:
            raise KeyboardInterrupt

    def lines(self, source: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines of a source that may block; an interrupt ends the wait at once."""
        remaining = iter(source)
        while True:
            self._is_reading = True  # set before the check, so that an interrupt in between is raised
            try:
                self.check()
                line = next(remaining, None)
            finally:
                self._is_reading = False
            if line is None:
                return
            yield line

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle the signal; raise at once while a line is awaited, or if it is the second signal."""
        if self._is_reading or self._is_pending:
            raise KeyboardInterrupt
        self._is_pending = True


@contextmanager
def defer_interrupts() -> Iterator[Interrupts]:
    """Handle SIGINT while the block runs; on the main thread only."""
    interrupts = Interrupts()
    previous_handler = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous_handler)
