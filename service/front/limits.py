"""How much one request may carry."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.front.errors import ApiError, ErrorForms, ErrorKind, FieldProblem, invalid_input
from service.front.surrogates import check_surrogates
from service.front.uploads import Upload, UploadLimits, Uploads, client_of

LEAST_BYTES_PER_S = 16 * 1024
"""Of a body that is read as it comes: slower ones hold a connection and a file for too long."""


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
    """Of one request."""

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

    def most_bytes(self, path: str) -> int:
        if path in self.streamed_paths:
            return self.streamed_paths[path]
        return self.max_document_bytes if path in self.document_paths else self.max_body_bytes


class BodyLimit:
    """ASGI middleware: refuses a body that is too large or too slow before anything parses it.

    The size announced is checked first; a body sent in chunks is counted as it comes. JSON with lone
    surrogates is rejected here as well, but not where bodies are read as they come: files are sent there.
    """

    def __init__(self, app: ASGIApp, limits: BodyLimits, forms: ErrorForms) -> None:
        self.app = app
        self.limits = limits
        self.forms = forms
        self._uploads = Uploads(limits.uploads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self.limits.streamed_paths and path not in self.limits.document_paths:
            await self._read_and_pass_on(scope, receive, send, _count_nothing)
            return
        with self._uploads.under_way(client_of(scope, has_keys=self.limits.uploads.has_keys)) as upload:
            announced_bytes = _announced_bytes(scope)
            try:
                if announced_bytes <= self.limits.most_bytes(path):
                    upload.grow_to(announced_bytes)
            except ApiError as error:
                await self.forms.respond(error, path)(scope, receive, send)
                return
            if path in self.limits.streamed_paths:
                await self.app(scope, self._counting(scope, receive, upload), send)
            else:
                await self._read_and_pass_on(scope, receive, send, upload.grow_to)

    async def _read_and_pass_on(
        self, scope: Scope, receive: Receive, send: Send, note_bytes: Callable[[int], None]
    ) -> None:
        path = scope["path"]
        try:
            async with asyncio.timeout(self.limits.timeout_s):
                most = self.limits.most_bytes(path)
                body = await _read(_announced_bytes(scope), most, receive, note_bytes)
            if "json" in Headers(scope=scope).get("content-type", "").lower():
                check_surrogates(body)
        except (_TooLargeError, TimeoutError) as error:
            await self.forms.respond(self._refusal(path, error), path)(scope, receive, send)
        except ApiError as error:
            await self.forms.respond(error, path)(scope, receive, send)
        except _ClientGoneError:
            return
        else:
            await self.app(scope, _replay(body, receive), send)

    def _counting(self, scope: Scope, receive: Receive, upload: Upload) -> Receive:
        """What reads the body meets the refusal, as an ApiError."""
        path, num_bytes, has_ended = scope["path"], _announced_bytes(scope), False
        most = self.limits.most_bytes(path)
        if num_bytes <= most:
            num_bytes = 0
        # What the server does with a piece is not the client's fault.
        patience_s = self.limits.timeout_s

        async def count() -> Message:
            nonlocal num_bytes, has_ended, patience_s
            if has_ended:  # what comes now is that the client goes, whenever it does
                return await receive()
            began_s = time.monotonic()
            try:
                async with asyncio.timeout(min(patience_s, self.limits.timeout_s)):
                    message = await receive()
            except TimeoutError as error:
                raise self._refusal(path, error) from error
            num_new = len(message.get("body", b""))
            patience_s += num_new / self.limits.least_bytes_per_s - (time.monotonic() - began_s)
            num_bytes += num_new
            if num_bytes > most:
                raise self._refusal(path, _TooLargeError())
            upload.grow_to(num_bytes)
            has_ended = not message.get("more_body", False)
            return message

        return count

    def _refusal(self, path: str, error: Exception) -> ApiError:
        # The rest of the body is not read, so nothing can follow it on this connection.
        headers = {"Connection": "close"}
        if isinstance(error, TimeoutError):
            problem = f"the body did not come within {self.limits.timeout_s:g} s; send it at once"
            if path in self.limits.streamed_paths:
                problem = (
                    f"no more of the body came for {self.limits.timeout_s:g} s, or fewer than "
                    f"{self.limits.least_bytes_per_s} bytes a second; send it faster"
                )
            return ApiError(ErrorKind.CLIENT_TIMEOUT, problem, headers=headers)
        most = self.limits.most_bytes(path)
        problem = f"the body has more than {most} bytes; send the texts in several requests"
        return ApiError(ErrorKind.TOO_LARGE, problem, headers=headers)


class _TooLargeError(Exception):
    pass


class _ClientGoneError(Exception):
    pass


def _count_nothing(_num_bytes: int) -> None:
    """Texts are small."""


async def _read(
    announced_bytes: int, max_bytes: int, receive: Receive, note_bytes: Callable[[int], None]
) -> bytes:
    if announced_bytes > max_bytes:
        raise _TooLargeError
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGoneError
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _TooLargeError
        note_bytes(len(body))
        if not message.get("more_body", False):
            return bytes(body)


def _announced_bytes(scope: Scope) -> int:
    """Content-Length, or 0 where it says nothing usable: the count while reading then decides."""
    try:
        return int(Headers(scope=scope).get("content-length", "0"))
    except ValueError:
        return 0


def _replay(body: bytes, receive: Receive) -> Receive:
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
