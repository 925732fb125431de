"""How much one request may carry."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.accounts.rates import network_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorForms, ErrorKind, FieldProblem, invalid_input
from service.http.request_bodies import SPOOLED
from service.http.uploads import Upload, UploadLimits, Uploads, client_of

LEAST_BYTES_PER_S = 16 * 1024
"""Of a body that is read as it comes: slower ones hold a connection and a file for too long."""
CLOSE: Mapping[str, str] = {"Connection": "close"}


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Of one request."""

    max_texts: int
    max_characters: int
    """In all texts together."""

    def check(self, texts: Sequence[str], target_prefix: str = "") -> None:
        """Raise an ApiError that names the limit passed; a prefix is as much work as a text of its length."""
        if (count := len(texts)) > self.max_texts:
            problem = f"{count} texts; a request may carry {self.max_texts}, so send them in several"
        elif (characters := sum(map(len, texts)) + len(target_prefix)) > self.max_characters:
            counted = ", those of target_prefix among them" if target_prefix else ""
            problem = (
                f"{characters} characters{counted}; a request may carry {self.max_characters}, so send them "
                "in several"
            )
        else:
            return
        raise invalid_input([FieldProblem(field="text", problem=problem)], total=1, kind=ErrorKind.TOO_LARGE)


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Of one request, and of all that are being sent."""

    max_body_bytes: int
    max_document_bytes: int
    timeout_s: float
    """Within which the body must have come."""
    document_paths: frozenset[str] = frozenset()
    """Where files are sent."""
    streamed_paths: Mapping[str, int] = field(default_factory=dict)
    """Where bodies are read as they come, and the most bytes of each. Between two pieces of one no more than
    `timeout_s` may pass, and all that a client has one wait may be so much beyond what its bytes take at
    `least_bytes_per_s`."""
    least_bytes_per_s: int = LEAST_BYTES_PER_S
    uploads: UploadLimits = field(default_factory=UploadLimits)
    """Of bodies with files, of all requests that are under way."""
    max_bodies: int = 256
    """Bodies of which a part has come and another has not, of all clients."""
    max_bodies_of_address: int = 64
    """The same of one address."""

    def has_files(self, path: str) -> bool:
        return path in self.streamed_paths or path in self.document_paths

    def most_bytes(self, path: str) -> int:
        if path in self.streamed_paths:
            return self.streamed_paths[path]
        return self.max_document_bytes if path in self.document_paths else self.max_body_bytes


class BodyLimit:
    """ASGI middleware: refuses a body that is too large, too slow, or one of too many at a time.

    It reads nothing itself. The size announced is checked first; what reads the body, once it knows from
    whom, meets the other refusals as an ApiError.
    """

    def __init__(self, app: ASGIApp, limits: BodyLimits, forms: ErrorForms) -> None:
        self.app = app
        self.limits = limits
        self.forms = forms
        self._bodies = _BodiesUnderWay(limits)
        self._uploads = Uploads(limits.uploads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        most_bytes = self.limits.most_bytes(path)
        if _announced_bytes(scope) > most_bytes:
            await self.forms.respond(too_large(most_bytes), path)(scope, receive, send)
            return
        with self._uploads.under_way(client_of(scope, has_keys=self.limits.uploads.has_keys)) as upload:
            try:
                if self.limits.has_files(path):
                    upload.grow_to(_announced_bytes(scope))
            except ApiError as error:
                await self.forms.respond(error, path)(scope, receive, send)
                return
            files: list[BinaryIO] = []
            scope[SPOOLED] = files
            body = _BodyUnderWay(self._bodies, upload, scope, receive, send)
            try:
                await self.app(scope, body.receive, body.send)
            finally:
                body.end()
                for file in files:
                    file.close()


class _BodiesUnderWay:
    """Counts bodies of which a part has come. For one event loop."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        self._num_all = 0
        self._num_of: Counter[str] = Counter()

    def enter(self, network: str) -> None:
        """Count one more; raise an ApiError if there are too many."""
        if self._num_all >= self.limits.max_bodies:
            problem = f"{self._num_all} bodies are being sent; try again later"
        elif self._num_of[network] >= self.limits.max_bodies_of_address:
            problem = f"{self._num_of[network]} bodies are being sent from this address; try again later"
        else:
            self._num_all += 1
            self._num_of[network] += 1
            return
        raise ApiError(ErrorKind.OVERLOADED, problem, headers={**RETRY_AFTER, **CLOSE})

    def leave(self, network: str) -> None:
        self._num_all -= 1
        self._num_of[network] -= 1
        if not self._num_of[network]:
            del self._num_of[network]


class _BodyUnderWay:
    """One request's body on its way in."""

    def __init__(
        self, bodies: _BodiesUnderWay, upload: Upload, scope: Scope, receive: Receive, send: Send
    ) -> None:
        limits, path = bodies.limits, scope["path"]
        self._bodies = bodies
        self._upload = upload if limits.has_files(path) else None
        self._scope = scope
        self._receive = receive
        self._send = send
        self._is_answered = False
        self._most_bytes = limits.most_bytes(path)
        self._timeout_s = limits.timeout_s
        # What the server does with a piece is not the client's fault: only waits for the client count.
        self._patience_s = limits.timeout_s
        self._least_bytes_per_s = limits.least_bytes_per_s if path in limits.streamed_paths else None
        self._num_bytes = 0
        self._network: str | None = None
        self._has_ended = False

    async def receive(self) -> Message:
        """Receive the next piece within the limits; once the body has ended, that the client goes."""
        if self._has_ended:
            return await self._receive()
        try:
            return await self._next_piece()
        except ApiError:
            if not self._is_answered:
                raise
            return {"type": "http.disconnect"}  # nobody can be told any more

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self._is_answered = True
        await self._send(message)

    async def _next_piece(self) -> Message:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(min(self._patience_s, self._timeout_s)):
                message = await self._receive()
        except TimeoutError as error:
            raise _too_slow(self._timeout_s, self._least_bytes_per_s) from error
        self._count(len(message.get("body", b"")), time.monotonic() - began_s)
        if not message.get("more_body", False):
            self.end()
        elif self._network is None:
            network = network_of(scope_address(self._scope))
            self._bodies.enter(network)
            self._network = network
        return message

    def end(self) -> None:
        """Count the body as under way no longer."""
        self._has_ended = True
        if self._network is not None:
            self._bodies.leave(self._network)
            self._network = None

    def _count(self, num_bytes: int, waited_s: float) -> None:
        self._num_bytes += num_bytes
        if self._num_bytes > self._most_bytes:
            raise too_large(self._most_bytes)
        if self._upload is not None:
            self._upload.grow_to(self._num_bytes)
        self._patience_s -= waited_s
        if self._least_bytes_per_s is not None:
            self._patience_s += num_bytes / self._least_bytes_per_s


def scope_address(scope: Scope) -> str:
    """Return the client's address, or nothing where it has none."""
    client = scope.get("client")
    return "" if client is None else str(client[0])


def too_large(most_bytes: int) -> ApiError:
    """Of a body. The rest of it is not read, so that nothing can follow it on its connection."""
    problem = f"the body has more than {most_bytes} bytes; send the texts in several requests"
    return ApiError(ErrorKind.TOO_LARGE, problem, headers=CLOSE)


def _too_slow(timeout_s: float, least_bytes_per_s: int | None) -> ApiError:
    problem = f"the body did not come within {timeout_s:g} s; send it at once"
    if least_bytes_per_s is not None:
        problem = (
            f"no more of the body came for {timeout_s:g} s, or fewer than {least_bytes_per_s} bytes a "
            "second; send it faster"
        )
    return ApiError(ErrorKind.CLIENT_TIMEOUT, problem, headers=CLOSE)


def _announced_bytes(scope: Scope) -> int:
    """Content-Length, or 0 where it says nothing usable: the count while reading then decides."""
    try:
        return int(Headers(scope=scope).get("content-length", "0"))
    except ValueError:
        return 0
