"""Forms as browsers send them: application/x-www-form-urlencoded and multipart/form-data, in UTF-8.

https://url.spec.whatwg.org/#application/x-www-form-urlencoded, https://www.rfc-editor.org/info/rfc7578
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Protocol, cast
from urllib.parse import unquote_to_bytes

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from service.http.request_bodies import PIECE_BYTES, Body

MAX_HEADERS = 8
MAX_HEADER_BYTES = 8 * 1024
"""Maximum bytes of one header of a part, and of a Content-Type."""
MAX_ALL_HEADERS_BYTES = 512 * 1024
"""Maximum bytes of the headers of all parts; a thousand texts come as a thousand parts."""
IDENTITY_ENCODINGS = frozenset({b"7bit", b"8bit", b"binary"})


class FormError(ValueError):
    """A form that cannot be read; the message quotes nothing of it."""


class UploadTarget(Protocol):
    """A writable file for an upload."""

    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class PartLimits:
    """Limits of one form."""

    max_parts: int
    max_field_bytes: int
    """Maximum bytes of a part that is not a file."""


class FormParser:
    """Parses one form: fields into memory, files into what `open_file` returns.

    Methods raise a FormError, which quotes nothing, if the form cannot be used.
    """

    def __init__(
        self, content_type: str, limits: PartLimits, open_file: Callable[[str, str], UploadTarget]
    ) -> None:
        """Start to parse.

        Args:
            content_type: value of the header, which names the boundary.
            limits: limits of the form.
            open_file: called with the names of a file's field and of the file; its exceptions are passed on.
        """
        self.strings: dict[str, list[str]] = {}
        self._limits = limits
        self._open_file = open_file
        self._has_ended = False
        self._headers: dict[bytes, bytes] = {}
        self._header, self._value = bytearray(), bytearray()
        self._name = ""
        self._file: UploadTarget | None = None
        self._num_parts = self._num_header_bytes = 0
        if len(content_type) > MAX_HEADER_BYTES:
            raise FormError(f"its Content-Type has more than {MAX_HEADER_BYTES} characters")
        boundary = parse_options_header(content_type)[1].get(b"boundary")
        if not boundary:
            raise FormError("its Content-Type names no boundary")
        with _malformed_errors():
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type] # a TypedDict

    def parse(self, piece: bytes) -> None:
        """Parse the next piece of the body."""
        with _malformed_errors():
            self._parser.write(piece)

    def end(self) -> None:
        """Check that the form is complete."""
        with _malformed_errors():
            self._parser.finalize()
        if not self._has_ended:
            raise FormError("it ends before its last boundary")

    def _callbacks(self) -> Mapping[str, object]:
        return {
            "on_part_begin": self._begin_part,
            "on_header_field": partial(self._add_header, self._header),
            "on_header_value": partial(self._add_header, self._value),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._data,
            "on_part_end": self._end_part,
            "on_end": self._end_form,
        }

    def _begin_part(self) -> None:
        self._num_parts += 1
        if self._num_parts > self._limits.max_parts:
            raise FormError(f"there are more than {self._limits.max_parts} fields")
        self._headers.clear()
        self._value.clear()

    def _add_header(self, buffer: bytearray, data: bytes, start: int, end: int) -> None:
        _add(buffer, data[start:end], MAX_HEADER_BYTES, "a header")
        self._num_header_bytes += end - start
        if self._num_header_bytes > MAX_ALL_HEADERS_BYTES:
            raise FormError(f"headers of its parts have more than {MAX_ALL_HEADERS_BYTES} bytes together")

    def _end_header(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        if len(self._headers) > MAX_HEADERS:
            raise FormError(f"a part has more than {MAX_HEADERS} headers")
        self._header.clear()
        self._value.clear()

    def _end_headers(self) -> None:
        _, parameters = parse_options_header(self._headers.get(b"content-disposition", b""))
        if b"name" not in parameters:
            raise FormError("a part has no name")
        if self._headers.get(b"content-transfer-encoding", b"binary").lower() not in IDENTITY_ENCODINGS:
            raise FormError("a part has a Content-Transfer-Encoding; send its bytes unencoded")
        self._name = _decode(parameters[b"name"])
        if b"filename" in parameters:
            self._file = self._open_file(self._name, _decode(parameters[b"filename"]))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            _add(self._value, data[start:end], self._limits.max_field_bytes, "a field")
        else:
            self._file.write(data[start:end])

    def _end_part(self) -> None:
        if self._file is None:
            self.strings.setdefault(self._name, []).append(_decode(self._value))
        self._file = None
        self._value.clear()

    def _end_form(self) -> None:
        self._has_ended = True


@contextmanager
def _malformed_errors() -> Iterator[None]:
    try:
        yield
    except FormParserError as error:
        raise FormError("it is malformed") from error


def _add(buffer: bytearray, data: bytes, max_bytes: int, what: str) -> None:
    if len(buffer) + len(data) > max_bytes:
        raise FormError(f"{what} has more than {max_bytes} bytes")
    buffer += data


def _decode(encoded: bytes | bytearray) -> str:
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error


MAX_FIELDS = 4096
"""Maximum fields of a request; a thousand texts come as a thousand fields."""
MAX_FIELD_BYTES = 12 * 2**20
"""Maximum bytes of a field in multipart/form-data; DeepL's clients may send a glossary of 10 MiB."""
MAX_UPLOADS = 8
UPLOAD_SPOOL_BYTES = 64 * 1024
"""Size in bytes from which an upload is kept on disk."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a form."""

    name: str
    """File name from the sender: it may have any characters, and must not be used as a path."""
    file: BinaryIO = field(repr=False)
    """Content of the file; closed with the request."""


@dataclass(frozen=True, slots=True)
class Form:
    """Fields and files of a form by name, in order."""

    strings: Mapping[str, list[str]] = field(default_factory=dict)
    uploads: Mapping[str, list[Upload]] = field(default_factory=dict)


def read_urlencoded(encoded: bytes) -> dict[str, list[str]]:
    """Parse the fields of a form, or of a URL's query.

    Raises:
        FormError: it is not UTF-8, or there are more than `MAX_FIELDS`.
    """
    if encoded.count(b"&") >= MAX_FIELDS:
        raise FormError(f"there are more than {MAX_FIELDS} fields")
    fields: dict[str, list[str]] = {}
    for pair in filter(None, encoded.split(b"&")):
        name, _, value = pair.partition(b"=")
        fields.setdefault(_unquote(name), []).append(_unquote(value))
    return fields


def _unquote(encoded: bytes) -> str:
    """Decode in pieces: decoding 10 MB at once would block all threads."""
    decoded, start = bytearray(), 0
    while start < len(encoded):
        stop = min(start + PIECE_BYTES, len(encoded))
        if stop < len(encoded) and (escape := encoded.rfind(b"%", stop - 2, stop)) > start:
            stop = escape  # the escape may continue in the next piece
        decoded += unquote_to_bytes(encoded[start:stop].replace(b"+", b" "))
        start = stop
    return _decode(decoded)


def read_multipart(content_type: str, body: Body, files: list[BinaryIO]) -> Form:
    """Parse the fields and files of a form.

    Args:
        content_type: value of the header, which names the boundary.
        body: the whole body.
        files: list that gets the files of the uploads; the caller closes them.

    Raises:
        FormError: it is malformed, ends too early, is not UTF-8 outside its files, or there are more than
            `MAX_FIELDS` or `MAX_UPLOADS`.
    """
    uploads: dict[str, list[Upload]] = {}
    num_uploads = 0

    def open_file(name: str, file_name: str) -> BinaryIO:
        nonlocal num_uploads
        num_uploads += 1
        if num_uploads > MAX_UPLOADS:
            raise FormError(f"there are more than {MAX_UPLOADS} files")
        file = cast("BinaryIO", SpooledTemporaryFile(UPLOAD_SPOOL_BYTES))  # noqa: SIM115 -- `files` owns it
        files.append(file)
        uploads.setdefault(name, []).append(Upload(file_name, file))
        return file

    parser = FormParser(content_type, PartLimits(MAX_FIELDS, MAX_FIELD_BYTES), open_file)
    for piece in body.pieces():
        parser.parse(piece)
    parser.end()
    return Form(parser.strings, uploads)
