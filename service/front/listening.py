"""How the process listens: patient with clients, but not for ever, and without dropping any when it stops."""

import asyncio
import signal
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class PatientProtocol(H11Protocol):
    """Uvicorn waits for ever for the rest of a request's head once a byte of it has come; this does not."""

    timeout_s: float
    _impatience: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self._begin_to_wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_request():
            self._stop_waiting()
        elif (
            self._impatience is None
        ):  # uvicorn's own timer, for connections kept alive, has just been stopped
            self._begin_to_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _has_request(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _begin_to_wait(self) -> None:
        self._stop_waiting()
        self._impatience = self.loop.call_later(self.timeout_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None


def patient_protocol(header_timeout_s: float) -> type[H11Protocol]:
    """HTTP/1.1 over connections that must say what they want within so many seconds."""

    class Impatient(PatientProtocol):
        timeout_s = header_timeout_s

    return Impatient


class DrainingServer(uvicorn.Server):
    """Told to stop by SIGTERM, it says that it is not ready and goes on for a while.

    Whoever sends requests looks at the readiness now and then, and would find a closed port before it knows.
    """

    def __init__(self, config: uvicorn.Config, drain_s: float, begin_to_drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain_s = drain_s
        self._begin_to_drain = begin_to_drain
        self._is_draining = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Of a signal; a second one, or an interrupt from the keyboard, does not wait."""
        if sig != signal.SIGTERM or self._is_draining or not self._drain_s:
            self._begin_to_drain()  # answers that have no end by themselves look at it
            super().handle_exit(sig, frame)
            return
        self._is_draining = True
        # A connection that is kept ends with an answer, and not with a reset in the middle of a request.
        self.config.encoded_headers = [*self.config.encoded_headers, (b"connection", b"close")]
        self._begin_to_drain()
        loop = asyncio.get_running_loop()
        # A signal's handler is not a callback of the loop, which may be asleep.
        loop.call_soon_threadsafe(loop.call_later, self._drain_s, super().handle_exit, sig, frame)
