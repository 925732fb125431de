"""Let other threads have the interpreter while a large text is prepared."""

import time

LARGE_CHARACTERS = 10_000
"""Characters of a text from which on its preparation is paced: fewer take a few milliseconds."""
WORK_S = 0.004
PAUSE_S = 0.012


def never_pause() -> None:
    """Do nothing, in the place of `Pacer.pause`."""


class Pacer:
    """Pauses a thread after every few milliseconds of its own work: it computes a quarter of the time.

    A step of the engine asks for the interpreter several times, and each time waits for whoever computes.
    """

    def __init__(self) -> None:
        self._resumed_s = time.thread_time()

    def pause(self) -> None:
        """Sleep if it is time to; to be called often."""
        if time.thread_time() - self._resumed_s >= WORK_S:
            time.sleep(PAUSE_S)
            self._resumed_s = time.thread_time()
