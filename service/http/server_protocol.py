"""The HTTP server: limits on connections and slow clients, and a stop that drops no request."""

import asyncio
import logging
import math
import re
import signal
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from http import HTTPStatus
from types import FrameType
from typing import Any, Protocol

import h11
import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from service.accounts.rates import network_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind, error_response
from service.settings.groups import NetworkSettings
from service.settings.settings import Settings
from service.work.shares import ClientCounts, exceeds_share

MAX_HEAD_BYTES = 16 * 1024
"""Maximum bytes of a request's line and headers; h11 checks this only if they arrive in several pieces."""
MAX_HEAD_LINES = 100
MANY_CHUNKS, MIN_CHUNK_BYTES = 1024, 16
"""Chunks of a body beyond this number must have this many bytes on average: each takes as long as a line."""
SINGLE_HEADERS = (b"Authorization", b"Content-Type", b"X-API-Key")
"""Headers that may occur once only: of two, a proxy may use one and this server the other."""
UNIX_CLIENT = ("unix", 0)
"""Address of clients that connect to a Unix socket; `trusted_proxies` can name it."""
UNREADABLE = "the request could not be read as HTTP/1.1"

_BLANK_LINE = re.compile(rb"\n\r?\n")


class StrictConnection(h11.Connection):
    """The server's end of a connection."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self.problem = UNREADABLE
        """Message for the client after a RemoteProtocolError."""
        self._num_chunks = self._num_chunk_bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.their_state is h11.IDLE:
            self._check_size()
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._check_headers(event)
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._check_chunk(event)
        return event

    def _check_size(self) -> None:
        """Check the received part of a request before its head is parsed."""
        data, _ = self.trailing_data
        if len(data) <= MAX_HEAD_BYTES and data.count(b"\n") <= MAX_HEAD_LINES:
            return
        end = _BLANK_LINE.search(data, 0, MAX_HEAD_BYTES)
        if end is None and len(data) > MAX_HEAD_BYTES:
            raise self._rejection(f"the request's line and headers have more than {MAX_HEAD_BYTES} bytes")
        if data.count(b"\n", 0, len(data) if end is None else end.start()) > MAX_HEAD_LINES:
            raise self._rejection(f"the request's head has more than {MAX_HEAD_LINES} lines")

    def _check_headers(self, request: h11.Request) -> None:
        names = [name for name, _ in request.headers]
        for header in SINGLE_HEADERS:
            if names.count(header.lower()) > 1:
                raise self._rejection(f"the header {header.decode()} occurs twice; send it once")
        self._num_chunks = self._num_chunk_bytes = 0
        if b"transfer-encoding" not in names:
            return
        # RFC 9112, 6.1 and 6.3: readers that use different ones of these headers see different requests.
        if b"content-length" in names:
            raise self._rejection(
                "the request has both Content-Length and Transfer-Encoding; send one of them"
            )
        if request.http_version == b"1.0":
            raise self._rejection("the request has a Transfer-Encoding, which HTTP/1.0 does not support")

    def _check_chunk(self, chunk: h11.Data) -> None:
        self._num_chunks += 1
        self._num_chunk_bytes += len(chunk.data)
        if self._num_chunks > MANY_CHUNKS + self._num_chunk_bytes // MIN_CHUNK_BYTES:
            raise self._rejection(
                f"the body has more than {MANY_CHUNKS} chunks of fewer than {MIN_CHUNK_BYTES} bytes; "
                "send larger chunks"
            )

    def _rejection(self, problem: str) -> h11.RemoteProtocolError:
        self.problem = problem
        return h11.RemoteProtocolError(problem)


CLOSE_GRACE_S = 5
"""Seconds for which requests may continue after a stop has closed their connections."""

logger = logging.getLogger(__name__)


class TrustedAddresses(Protocol):
    """The addresses of trusted proxies, as uvicorn reads them."""

    def __contains__(self, host: str | None, /) -> bool: ...


class BoundedProtocol(H11Protocol):
    """Uvicorn's protocol with limits on time and on connections: its own waits for ever for the rest of a
    request's head, and for a client to read its response.
    """

    settings: Settings
    trusted: TrustedAddresses
    num_of: ClientCounts
    """Numbers of open connections, by address or network."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn: StrictConnection = StrictConnection()
        self._request_timer: TimerHandle | None = None
        """Closes the connection unless a request arrives."""
        self._read_timer: TimerHandle | None = None
        """Aborts the connection unless the client reads."""
        self._network: str | None = None
        """Address or network under which the connection is counted; None if it is not."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        if self.client is None:
            self.client = UNIX_CLIENT
        self._start_request_timer()
        host = self.client[0]
        if len(self.connections) > self.settings.max_connections:
            problem = f"the limit of {self.settings.max_connections} connections is reached; try again later"
        elif host in self.trusted:
            return
        else:
            self._network = network_of(host)
            self.num_of.add(self._network, 1)
            used = self.num_of[self._network]
            if used == 1 or not (
                used > self.settings.max_connections_of_address
                or exceeds_share(used, len(self.connections), self.settings.max_connections)
            ):
                return
            problem = f"the limit of {used - 1} connections from this address is reached; close or reuse some"
        self._respond_with_error(ApiError(ErrorKind.OVERLOADED, problem, headers=RETRY_AFTER))

    def data_received(self, data: bytes) -> None:
        # h11 checks the size of what it has not parsed only between two pieces.
        for start in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + MAX_HEAD_BYTES])
        if self._has_request():
            self._stop_request_timer()
        elif (
            self._request_timer is None
        ):  # uvicorn has just stopped its own timer, which closes idle connections
            self._start_request_timer()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's text is too general
        self._respond_with_error(ApiError(ErrorKind.MALFORMED, self.conn.problem))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_read_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_read_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_read_timer()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start_read_timer()

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self._start_read_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_request_timer()
        self._stop_read_timer()
        if self._network is not None:
            self.num_of.add(self._network, -1)
        super().connection_lost(exc)

    def _respond_with_error(self, error: ApiError) -> None:
        """Respond without the application, unless a response has begun; close the connection."""
        response = error_response(error)
        headers = [*response.raw_headers, (b"connection", b"close")]
        reason = HTTPStatus(response.status_code).phrase
        try:
            for event in (
                h11.Response(status_code=response.status_code, headers=headers, reason=reason),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:
            logger.debug("cannot send an error response: another response has begun")
        if self._has_request():  # discard what the application sends
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._start_read_timer()

    def _has_request(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _start_request_timer(self) -> None:
        self._stop_request_timer()
        self._request_timer = self.loop.call_later(self.settings.client_timeout_s, self._close)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _start_read_timer(self) -> None:
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self.settings.client_timeout_s, self.transport.abort)

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def bounded_protocol(server_settings: Settings) -> type[H11Protocol]:
    """Return a protocol class with the limits of the settings, which all connections of a loop share."""

    async def app(*_: object) -> None:
        """Do nothing: only the middleware's reading of the setting is used, which is uvicorn's own."""

    class LimitedProtocol(BoundedProtocol):
        settings = server_settings
        trusted = ProxyHeadersMiddleware(app, server_settings.trusted_proxies).trusted_hosts
        num_of = ClientCounts()

    return LimitedProtocol


class DrainingServer(uvicorn.Server):
    """A server that, after SIGTERM, reports that it is not ready and continues for a while.

    Load balancers check readiness only now and then, and would otherwise find a closed port first.
    """

    def __init__(
        self, config: uvicorn.Config, settings: NetworkSettings, start_draining: Callable[[], None]
    ) -> None:
        # A request whose connection is closed ends by itself; uvicorn cancels one that does not.
        config.timeout_graceful_shutdown = math.ceil(settings.stop_timeout_s) + CLOSE_GRACE_S
        super().__init__(config)
        self._settings = settings
        self._start_draining = start_draining
        self._is_draining = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal; a second one, or an interrupt from the keyboard, stops without delay."""
        if sig != signal.SIGTERM or self._is_draining or not self._settings.drain_s:
            self._start_draining()  # responses without an end check this
            super().handle_exit(sig, frame)
            return
        self._is_draining = True
        # A kept-alive connection then ends with a response, and not with a reset in the middle of a request.
        self.config.encoded_headers = [*self.config.encoded_headers, (b"connection", b"close")]
        self._start_draining()
        loop = asyncio.get_running_loop()
        # A signal handler is not a callback of the loop, which may be asleep: only this call wakes it.
        loop.call_soon_threadsafe(loop.call_later, self._settings.drain_s, super().handle_exit, sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        close_timer = loop.call_later(self._settings.stop_timeout_s, self._close_connections)
        try:
            await super().shutdown(sockets)
        finally:
            close_timer.cancel()

    def _close_connections(self) -> None:
        connections = list(self.server_state.connections)
        logger.warning(
            "closing %d connections that are still open %g s after the shutdown began",
            len(connections),
            self._settings.stop_timeout_s,
        )
        for connection in connections:
            if connection.transport is not None:
                connection.transport.abort()
