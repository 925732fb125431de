"""Interrupts (Ctrl-C) that are heeded between two lines, and not in the middle of whatever runs just then."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """SIGINT while lines are read and written; see `handling_interrupts`.

    Python raises KeyboardInterrupt between any two instructions of the main thread: also right after a lock
    was taken, and before there is anybody to give it back. A thread that wants the lock then waits for ever,
    and so does whoever waits for the thread.
    """

    def __init__(self) -> None:
        self._has_come = False
        self._is_reading = False

    def check(self) -> None:
        """Raise the KeyboardInterrupt that is due, if one is."""
        if self._has_come:
            raise KeyboardInterrupt

    def lines(self, source: Iterable[bytes]) -> Iterator[bytes]:
        """Lines of a source that may let its reader wait; an interrupt ends the wait at once."""
        remaining = iter(source)
        while True:
            self._is_reading = True  # before the check: what comes in between is raised
            try:
                self.check()
                line = next(remaining, None)
            finally:
                self._is_reading = False
            if line is None:
                return
            yield line

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle the signal. Who sends it twice will not wait."""
        if self._is_reading or self._has_come:
            raise KeyboardInterrupt
        self._has_come = True


@contextmanager
def handling_interrupts() -> Iterator[Interrupts]:
    """On the main thread, while the block runs."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
