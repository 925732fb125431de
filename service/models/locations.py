"""Locations of files: a path, or an address that is read over HTTP."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit

from pydantic import TypeAdapter, ValidationError

from service.models.errors import ModelError

Content = TypeVar("Content")

TIMEOUT_S = 60.0
PIECE_BYTES = 2**20
REMOTE = frozenset({"http", "https"})
HANDLERS = (
    *(request.ProxyHandler, request.UnknownHandler, request.HTTPHandler, request.HTTPSHandler),
    *(request.HTTPDefaultErrorHandler, request.HTTPRedirectHandler, request.HTTPErrorProcessor),
)
"""Handlers that follow redirects to other servers, but to no other protocol."""
MAX_SHOWN = 300
"""Maximum characters of a server's own words in a message."""


def resolve(base: str, path: str) -> str:
    """Return the location of a path in an index, or below a folder whose location ends with a slash."""
    if urlsplit(base).scheme not in REMOTE:
        folder = Path(base) if base.endswith("/") else Path(base).parent
        return path if urlsplit(path).scheme in REMOTE else str(folder / path)
    resolved = urljoin(base, path)
    if urlsplit(resolved).scheme not in REMOTE:
        raise ModelError(f"{path} is not an address; an index that was downloaded cannot name files here")
    return resolved


def read_location(location: str, max_bytes: int) -> bytes:
    stream, _ = open_location(location, 0)
    with closing(stream):
        content = receive(stream, max_bytes + 1, location)
    if len(content) > max_bytes:
        raise ModelError(f"{location} has more than {max_bytes} bytes")
    return content


def parse_content(kind: type[Content], content: bytes, location: str) -> Content:
    """Return JSON as an index of models; raise a ModelError that names what is wrong."""
    try:
        return TypeAdapter(kind).validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ModelError(f"{location} is not an index of models: {where}: {first['msg']}") from error


def open_location(location: str, start: int) -> tuple[BinaryIO, int]:
    """Return a stream and where it starts: at `start`, or at the beginning if the server has no ranges."""
    with reading(location):
        if urlsplit(location).scheme not in REMOTE:
            file = Path(location).open("rb")  # noqa: SIM115 -- the caller closes it
            file.seek(start)
            return file, start
        opener = request.OpenerDirector()
        for handler in HANDLERS:
            opener.add_handler(handler())
        headers = {"Range": f"bytes={start}-"} if start else {}
        response = opener.open(request.Request(location, headers=headers), timeout=TIMEOUT_S)  # noqa: S310 -- http or https
        return response, start if response.status == HTTPStatus.PARTIAL_CONTENT else 0


def append(
    stream: BinaryIO, target: BinaryIO, max_bytes: int, location: str, on_bytes: Callable[[int], object]
) -> None:
    """Append what a stream has to a file of at most `max_bytes`; call `on_bytes` with each piece's size."""
    while piece := receive(stream, min(PIECE_BYTES, max_bytes - target.tell()), location):
        target.write(piece)
        on_bytes(len(piece))


def receive(stream: BinaryIO, num_bytes: int, location: str) -> bytes:
    with reading(location, "broke off", "; try again to continue"):
        return stream.read(num_bytes)


@contextmanager
def reading(location: str, problem: str = "cannot be read", advice: str = "") -> Iterator[None]:
    """Convert all that a broken address or server causes to a ModelError of one line."""
    try:
        yield
    except HTTPError as error:
        raise ModelError(f"{location}: the server answers {error.code} {_shown(error.reason)}") from error
    except (OSError, HTTPException, ValueError, OverflowError) as error:
        raise ModelError(f"{location} {problem}: {_shown(error)}{advice}") from error


def _shown(reason: object) -> str:
    line = " ".join(str(reason).split()) or type(reason).__name__
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"
