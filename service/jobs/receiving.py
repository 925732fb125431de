"""Files as they come: onto the disk and not into memory, looked at before anything else is made of them.

https://www.rfc-editor.org/info/rfc7578 for forms; JSON lines are a body of their own.
"""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from service.front.errors import ApiError, ErrorKind
from service.front.fields import Fields, content_type_of, field_error, read_query
from service.front.forms import FormError
from service.front.threads import beside

JSON_LINES = ("application/x-ndjson", "application/jsonl")
MULTIPART = "multipart/form-data"
FILE_FIELD = "file"
LINES_NAME = "lines.jsonl"
"""What JSON lines without a name are called."""
PIECE_BYTES = 2**20
"""Of a body that are in memory at a time."""
MAX_FIELDS = 128
MAX_FIELD_BYTES = 16 * 1024
MAX_HEADER_BYTES = 8 * 1024
"""Of a form's part."""
HARMLESS_ENCODINGS = frozenset({b"7bit", b"8bit", b"binary"})


@dataclass(frozen=True, slots=True)
class Received:
    """A file that has come, with what was said beside it."""

    fields: Fields
    """Without the file."""
    name: str
    """As its sender calls it: any characters, and no path to be trusted."""
    path: Path
    size_bytes: int


async def receive(request: Request, folder: Path, max_bytes: int) -> Received:
    """Take in a request's file.

    Args:
        request: whose body nobody has read.
        folder: where the file goes; whoever has it removes it.
        max_bytes: most that a file may have.

    Raises:
        ApiError: there is no file or more than one, it is too large, or the form cannot be read.
    """
    kind = content_type_of(request)
    path = folder / secrets.token_hex(16)
    fields = read_query(request)
    if kind == MULTIPART:
        form = await _receive_form(request, path, max_bytes)
        twice = sorted(set(fields) & set(form.strings))
        if twice:
            raise ApiError(ErrorKind.MALFORMED, f"the field {twice[0][:80]!r} comes twice; send it once")
        if form.file_name is None:
            raise field_error(FILE_FIELD, "is missing; send one in the form, with a file name")
        return Received(Fields(form={**fields, **form.strings}), form.file_name, path, path.stat().st_size)
    if kind in JSON_LINES:
        with await beside(lambda: path.open("xb")) as target:
            async for piece in _pieces(request):
                await beside(partial(_write, target, piece, max_bytes))
        return Received(Fields(form=fields), LINES_NAME, path, path.stat().st_size)
    raise ApiError(
        ErrorKind.UNSUPPORTED_MEDIA_TYPE,
        f"send a form, as {MULTIPART}, or JSON lines, as {' or '.join(JSON_LINES)}, and say which in the "
        "header Content-Type",
    )


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a change of threads."""
    piece = bytearray()
    async for chunk in request.stream():
        piece += chunk
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _write(target: BinaryIO, piece: bytes, max_bytes: int) -> None:
    if target.tell() + len(piece) > max_bytes:
        raise ApiError(ErrorKind.TOO_LARGE, f"the file has more than {max_bytes} bytes; part it")
    target.write(piece)


async def _receive_form(request: Request, path: Path, max_bytes: int) -> "_Form":
    _, parameters = parse_options_header(request.headers["content-type"])
    boundary = parameters.get(b"boundary")
    if not boundary:
        raise ApiError(ErrorKind.MALFORMED, "the form cannot be read: its header names no boundary")
    with await beside(lambda: path.open("xb")) as target, _failing_as_malformed():
        form = _Form(target, max_bytes)
        parser = MultipartParser(boundary, form.callbacks())  # type: ignore[arg-type] # a TypedDict of theirs
        async for piece in _pieces(request):
            await beside(partial(parser.write, piece))
        parser.finalize()
        if not form.has_ended:
            raise FormError("it ends before its last boundary")
    return form


@contextmanager
def _failing_as_malformed() -> Iterator[None]:
    try:
        yield
    except FormError as error:
        raise ApiError(ErrorKind.MALFORMED, f"the form cannot be read: {error}") from error
    except FormParserError as error:
        raise ApiError(ErrorKind.MALFORMED, "the form cannot be read: it is malformed") from error


@dataclass(slots=True)
class _Form:
    """Takes a form's parts as a parser finds them: the file to the disk, fields into memory."""

    target: BinaryIO
    max_bytes: int
    strings: dict[str, list[str]] = field(default_factory=dict)
    file_name: str | None = None
    has_ended: bool = False
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _header: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _name: str = ""
    _is_file: bool = False
    _num_parts: int = 0

    def callbacks(self) -> Mapping[str, object]:
        """As the parser wants them."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._end_all,
        }

    def _begin(self) -> None:
        self._num_parts += 1
        if self._num_parts > MAX_FIELDS:
            raise FormError(f"there are more than {MAX_FIELDS} fields")
        self._headers.clear()
        self._value.clear()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._add(self._header, data[start:end], MAX_HEADER_BYTES, "a header")

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._add(self._value, data[start:end], MAX_HEADER_BYTES, "a header")

    def _header_end(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _headers_finished(self) -> None:
        _, parameters = parse_options_header(self._headers.get(b"content-disposition", b""))
        if b"name" not in parameters:
            raise FormError("a part has no name")
        if self._headers.get(b"content-transfer-encoding", b"binary").lower() not in HARMLESS_ENCODINGS:
            raise FormError("a part has a Content-Transfer-Encoding; send its bytes as they are")
        self._name = _decode(parameters[b"name"])
        self._is_file = b"filename" in parameters
        if not self._is_file:
            return
        if self._name != FILE_FIELD:
            raise field_error(self._name[:80], f"must not be a file; the file's field is `{FILE_FIELD}`")
        if self.file_name is not None:
            raise field_error(FILE_FIELD, "comes twice; send one file")
        self.file_name = _decode(parameters[b"filename"])

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            _write(self.target, data[start:end], self.max_bytes)
        else:
            self._add(self._value, data[start:end], MAX_FIELD_BYTES, "a field")

    def _end(self) -> None:
        if not self._is_file:
            self.strings.setdefault(self._name, []).append(_decode(bytes(self._value)))
        self._value.clear()

    def _end_all(self) -> None:
        self.has_ended = True

    @staticmethod
    def _add(buffer: bytearray, data: bytes, most_bytes: int, what: str) -> None:
        if len(buffer) + len(data) > most_bytes:
            raise FormError(f"{what} has more than {most_bytes} bytes")
        buffer += data


def _decode(encoded: bytes) -> str:
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error
