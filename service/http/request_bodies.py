"""Reading of request bodies with limited memory, and parsing of large ones on a thread."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import SEEK_END
from tempfile import TemporaryFile
from typing import BinaryIO, TypeVar

from fastapi import Request

from dragoman.pipeline.pacing import Pacer
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind
from service.work.fair_slots import SlotsOfLoop
from service.work.shares import current_client
from service.work.threads import run_in_thread

SPOOL_BYTES = 256 * 1024
"""Size in bytes from which a body is kept on disk until it is parsed."""
MAX_PARSED_ON_LOOP_BYTES = 16 * 1024
"""Maximum bytes of a body that is parsed on the event loop, in less than a millisecond."""
MAX_PARSED = 2
"""Maximum number of larger bodies parsed at the same time, one of each client; each is in memory then."""
PIECE_BYTES = 64 * 1024
SPOOLED_FILES = "spooled"
"""Key in a request's scope of its temporary files, which are closed with the request."""
Result = TypeVar("Result")

logger = logging.getLogger(__name__)

_parsing = SlotsOfLoop(MAX_PARSED, 1)


@dataclass(frozen=True, slots=True)
class Body:
    """A complete body, in memory or in a file."""

    content: bytes = b""
    file: BinaryIO | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.content) if self.file is None else self.file.seek(0, SEEK_END)

    def read(self) -> bytes:
        """Return the whole body."""
        if self.file is None:
            return self.content
        self.file.seek(0)
        return self.file.read()

    def pieces(self) -> Iterator[bytes]:
        """Yield the body in pieces: of up to `PIECE_BYTES` from a file, a single one from memory."""
        if self.file is None:
            yield self.content
            return
        self.file.seek(0)
        while piece := self.file.read(PIECE_BYTES):
            yield piece


async def read_body(request: Request) -> Body:
    """Receive the whole body, with at most `SPOOL_BYTES` of it and one piece in memory.

    Raises:
        ApiError: the body is compressed, too large, too slow, or cannot be written to disk.
        ClientDisconnect: the client has disconnected.
    """
    require_no_encoding(request)
    buffer, file = bytearray(), None
    files: list[BinaryIO] = request.scope.get(SPOOLED_FILES, [])
    async for piece in request.stream():
        buffer += piece
        if len(buffer) >= SPOOL_BYTES:
            if file is None:
                await _run_disk_work(lambda: files.append(_open_file()))
                file = files[-1]
            await _run_disk_work(partial(file.write, bytes(buffer)))
            buffer.clear()
    if file is None:
        return Body(bytes(buffer))
    await _run_disk_work(partial(file.write, bytes(buffer)))
    return Body(file=file)


async def parsed(body: Body, parse: Callable[[Body], Result]) -> Result:
    """Return the result of `parse` for a body; a large one is parsed on a thread, which then pauses."""
    if body.file is None and len(body.content) <= MAX_PARSED_ON_LOOP_BYTES:
        return parse(body)
    with _disk_errors():
        async with _parsing.get().hold(current_client.get(), body.size_bytes):
            return await run_in_thread(partial(_parse_paced, parse, body))


def _parse_paced(parse: Callable[[Body], Result], body: Body) -> Result:
    """Parse a body, and keep its client's slot for a while: parsers hold the interpreter, which all need."""
    pacer = Pacer()
    try:
        return parse(body)
    finally:
        pacer.rest()


def require_no_encoding(request: Request) -> None:
    """Raise an ApiError for a compressed body: a few of its bytes may expand to any number."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ApiError(
            ErrorKind.UNSUPPORTED_MEDIA_TYPE,
            "compressed bodies are not supported; omit the header Content-Encoding",
        )


def _open_file() -> BinaryIO:
    return TemporaryFile()


async def _run_disk_work(work: Callable[[], Result]) -> Result:
    with _disk_errors():
        return await run_in_thread(work)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        logger.error("cannot store a request body on disk: %s", error)  # noqa: TRY400 -- the message is enough
        problem = "the body cannot be stored at the moment; try again later"
        raise ApiError(ErrorKind.STORE_UNAVAILABLE, problem, headers=RETRY_AFTER) from error
