"""Stop signals: recorded when they arrive, acted on where it is safe to stop."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """The stop signal that has arrived, if any."""

    def __init__(self, message: str | None = None) -> None:
        """Set `message`, the message logged when a signal arrives, such as "stopping after this step"."""
        self.signal_number: int | None = None
        self._promise = message

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record SIGTERM and SIGINT instead of ending the process; a second signal ends it as usual."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        self.install()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def install(self) -> None:
        """Install the handlers that record the signals, over any others."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._record)

    def _record(self, signal_number: int, _frame: FrameType | None) -> None:
        if self.signal_number is not None:
            signal.signal(signal_number, signal.SIG_DFL)
            signal.raise_signal(signal_number)
        self.signal_number = signal_number
        if self._promise is not None:
            log.info("%s: %s", signal.Signals(signal_number).name, self._promise)


def ignore_stop_signals(_: int) -> None:
    """Ignore the signals of a stop request in a data process, which the training process ends itself."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
