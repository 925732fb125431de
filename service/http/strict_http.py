"""HTTP/1.1 with limits that h11 lacks; requests that two readers may read differently are rejected."""

import re

import h11

MAX_HEAD_BYTES = 16 * 1024
"""Maximum bytes of a request's line and headers; h11 checks this only if they arrive in several pieces."""
MAX_HEAD_LINES = 100
MANY_CHUNKS, MIN_CHUNK_BYTES = 1024, 16
"""Chunks of a body beyond this number must have this many bytes on average: each takes as long as a line."""
SINGLE_HEADERS = (b"Authorization", b"Content-Type", b"X-API-Key")
"""Headers that may occur once only: of two, a proxy may use one and this server the other."""
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
