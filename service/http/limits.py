"""Limits of request bodies."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.accounts.keys import ANONYMOUS
from service.accounts.rates import identity_of, network_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorForms, ErrorKind
from service.http.middleware import HttpMiddleware
from service.http.request_bodies import SPOOLED_FILES
from service.http.uploads import UPLOAD, TrackedUpload, Uploads, announced_bytes
from service.settings.settings import Settings
from service.work.shares import ClientCounts, current_client, exceeds_share

MIN_BYTES_PER_S = 16 * 1024
"""Minimum bytes per second of a streamed body; slower ones occupy a connection and a file for too long."""
MAX_DISCARDED_BYTES, DISCARD_S = 32 * 2**20, 5.0
"""Maximum size of a rejected body whose rest is received and discarded, and seconds for which it is."""
CLOSE: Mapping[str, str] = {"Connection": "close"}


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of the body of one request, and of all bodies being received."""

    settings: Settings
    document_paths: frozenset[str] = frozenset()
    """Paths that accept files. One that ends with `/` stands for all paths below it."""
    streamed_paths: Mapping[str, int] = field(default_factory=dict)
    """Paths whose bodies are read as they arrive, with the maximum bytes of each. A client may pause
    for up to `client_timeout_s` between two pieces; all its pauses together may exceed the time that its
    bytes take at `MIN_BYTES_PER_S` by at most `client_timeout_s`."""

    def has_files(self, path: str) -> bool:
        return path in self.streamed_paths or self._accepts_documents(path)

    def max_bytes(self, path: str) -> int:
        if path in self.streamed_paths:
            return self.streamed_paths[path]
        settings = self.settings
        return settings.max_document_bytes if self._accepts_documents(path) else settings.max_body_bytes

    def _accepts_documents(self, path: str) -> bool:
        return path in self.document_paths or any(
            path.startswith(root) for root in self.document_paths if root.endswith("/")
        )


class BodyLimitMiddleware(HttpMiddleware):
    """ASGI middleware that rejects a body that is too large, too slow, or one of too many at a time.

    It reads nothing itself. It rejects a single body that is too large by its announced size. All other
    rejections are an ApiError in the code that authenticates or reads the body.
    """

    def __init__(self, app: ASGIApp, limits: BodyLimits, forms: ErrorForms) -> None:
        super().__init__(app)
        self.limits = limits
        self.forms = forms
        self._bodies = _BodyCounter(limits)
        self._uploads = Uploads(limits.settings)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        max_bytes = self.limits.max_bytes(path)
        scope[UPLOAD] = None
        if announced_bytes(scope) > max_bytes:
            body = _BodyReceiver(self._bodies, scope, receive, send)
            await self.forms.respond(body_too_large_error(max_bytes), path)(scope, receive, body.send)
            return
        current_client.set(identity_of(ANONYMOUS, client_address(scope)))
        with ExitStack() as stack:
            files: list[BinaryIO] = []
            stack.callback(_close, files)
            scope[SPOOLED_FILES] = files
            if self.limits.has_files(path):
                scope[UPLOAD] = stack.enter_context(self._uploads.track(scope))
            body = _BodyReceiver(self._bodies, scope, receive, send)
            stack.callback(body.end)
            await self.app(scope, body.receive, body.send)


def _close(files: Sequence[BinaryIO]) -> None:
    for file in files:
        file.close()


class _BodyCounter:
    """Counts partly received bodies. For one event loop."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        self.by_network = ClientCounts()

    def enter(self, network: str) -> None:
        """Count one more body; raise an ApiError if there are too many."""
        settings = self.limits.settings
        used, total = self.by_network[network], self.by_network.total()
        if total >= settings.max_bodies:
            problem = f"the limit of {total} uploads in progress is reached; try again later"
        elif used >= settings.max_bodies_of_address or (
            used and exceeds_share(used + 1, total + 1, settings.max_bodies)
        ):
            problem = f"the limit of {used} uploads in progress from this address is reached; try again later"
        else:
            self.by_network.add(network, 1)
            return
        raise ApiError(ErrorKind.OVERLOADED, problem, headers={**RETRY_AFTER, **CLOSE})


class _BodyReceiver:
    """The body of one request while it is received."""

    def __init__(self, bodies: _BodyCounter, scope: Scope, receive: Receive, send: Send) -> None:
        limits, path = bodies.limits, scope["path"]
        self._bodies = bodies
        self._upload: TrackedUpload | None = scope[UPLOAD]
        self._scope = scope
        self._receive = receive
        self._send = send
        self._is_answered = False
        self._most_bytes = limits.max_bytes(path)
        self._timeout_s = limits.settings.client_timeout_s
        # Only waits for the client count, not the time that the server takes to process a piece.
        self._remaining_wait_s = self._timeout_s
        self._least_bytes_per_s = MIN_BYTES_PER_S if path in limits.streamed_paths else None
        self._num_bytes = 0
        self._network: str | None = None
        self._has_ended = False

    async def receive(self) -> Message:
        """Receive the next piece within the limits; after the body, wait for the client to disconnect."""
        if self._has_ended:
            return await self._receive()
        try:
            return await self._next_piece()
        except ApiError:
            if not self._is_answered:
                raise
            return {"type": "http.disconnect"}  # too late to respond with an error

    async def send(self, message: Message) -> None:
        """Send a part of the response, and before its end receive the rest of a rejected body.

        To close a connection with bytes that were not read resets it, and then many clients, which still
        send, never read their response.
        """
        self._is_answered = True
        is_end = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_end and not self._has_ended and 0 < announced_bytes(self._scope) <= MAX_DISCARDED_BYTES:
            await self._send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(DISCARD_S):
                    while (await self._receive()).get("more_body", False):
                        pass
            message = {"type": "http.response.body"}
        await self._send(message)

    async def _next_piece(self) -> Message:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(min(self._remaining_wait_s, self._timeout_s)):
                message = await self._receive()
        except TimeoutError as error:
            raise _too_slow(self._timeout_s, self._least_bytes_per_s) from error
        self._count(len(message.get("body", b"")), time.monotonic() - began_s)
        if not message.get("more_body", False):
            self.end()
        elif self._network is None:
            network = network_of(client_address(self._scope))
            self._bodies.enter(network)
            self._network = network
        return message

    def end(self) -> None:
        """Stop counting the body as partly received."""
        self._has_ended = True
        if self._network is not None:
            self._bodies.by_network.add(self._network, -1)
            self._network = None

    def _count(self, num_bytes: int, waited_s: float) -> None:
        self._num_bytes += num_bytes
        if self._num_bytes > self._most_bytes:
            raise body_too_large_error(self._most_bytes)
        if self._upload is not None:
            self._upload.grow_to(self._num_bytes)
        self._remaining_wait_s -= waited_s
        if self._least_bytes_per_s is not None:
            self._remaining_wait_s += num_bytes / self._least_bytes_per_s


def client_address(scope: Scope) -> str:
    """Return the client's address; empty if it has none."""
    client = scope.get("client")
    return "" if client is None else str(client[0])


def body_too_large_error(max_bytes: int) -> ApiError:
    """Return the error for a body that is too large. Its rest may not be read: its connection must close."""
    problem = f"the body has more than {max_bytes} bytes; send the texts in several requests"
    return ApiError(ErrorKind.TOO_LARGE, problem, headers=CLOSE)


def _too_slow(timeout_s: float, min_bytes_per_s: int | None) -> ApiError:
    problem = f"the body was not received within {timeout_s:g} s; send it faster"
    if min_bytes_per_s is not None:
        problem = (
            f"nothing of the body arrived for {timeout_s:g} s, or fewer than {min_bytes_per_s} bytes per "
            "second; send it faster"
        )
    return ApiError(ErrorKind.CLIENT_TIMEOUT, problem, headers=CLOSE)
