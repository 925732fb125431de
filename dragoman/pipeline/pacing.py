"""Let other threads run while a large text is prepared."""

import time
from collections.abc import Callable

from dragoman.errors import TranslationCancelled

LARGE_CHARACTERS = 10_000
"""Minimum characters of a text whose preparation is paced: shorter texts take a few milliseconds."""
WORK_S = 0.004
"""Minimum CPU time in seconds between two pauses."""
PAUSE_PER_WORK = 3
"""Length of a pause in parts of the CPU time before it: the thread runs a quarter of the time."""


def never_pause() -> None:
    """Do nothing: for texts that need no `Pacer.pause`."""


class Pacer:
    """Pauses a thread after every few milliseconds of CPU time, for three times as long.

    Each step of the engine acquires the interpreter lock several times, and waits while others hold it.
    """

    def __init__(self) -> None:
        self._resumed_s = time.thread_time()

    def pause(self) -> None:
        """Sleep if it is time to. Call it often."""
        if time.thread_time() - self._resumed_s >= WORK_S:
            self.rest()

    def rest(self) -> None:
        """Sleep, however short the work was."""
        time.sleep(PAUSE_PER_WORK * (time.thread_time() - self._resumed_s))
        self._resumed_s = time.thread_time()


def pause_of(num_characters: int, is_cancelled: Callable[[], bool] | None = bool) -> Callable[[], None]:
    """Return what to call between two pieces of the preparation of texts.

    Args:
        num_characters: of the longest one.
        is_cancelled: if true, the pause raises TranslationCancelled; it never is, as `bool()`, by default.
            None if nobody else waits.
    """
    if is_cancelled is None or num_characters < LARGE_CHARACTERS:
        return never_pause
    pacer = Pacer()

    def pause() -> None:
        if is_cancelled():
            raise TranslationCancelled
        pacer.pause()

    return pause
