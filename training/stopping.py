"""Signals that ask for the end, noted and acted on where it is safe to end."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Whether a signal asked for the end."""

    def __init__(self, promise: str | None = None) -> None:
        """`promise`: what is logged when a signal comes, as in "stopping after this step"."""
        self.signal_number: int | None = None
        self._promise = promise

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note SIGTERM and SIGINT instead of dying; a second one of them ends the process as usual."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        self.install()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def install(self) -> None:
        """Note the signals from now on, whoever else has put a handler of their own in place."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._note)

    def _note(self, signal_number: int, _frame: FrameType | None) -> None:
        if self.signal_number is not None:
            signal.signal(signal_number, signal.SIG_DFL)
            signal.raise_signal(signal_number)
        self.signal_number = signal_number
        if self._promise is not None:
            log.info("%s: %s", signal.Signals(signal_number).name, self._promise)
