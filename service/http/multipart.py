"""A parser of multipart/form-data piece by piece: https://www.rfc-editor.org/info/rfc7578."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

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
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
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

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._add_header(self._header, data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._add_header(self._value, data[start:end])

    def _add_header(self, buffer: bytearray, data: bytes) -> None:
        _add(buffer, data, MAX_HEADER_BYTES, "a header")
        self._num_header_bytes += len(data)
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
            self.strings.setdefault(self._name, []).append(_decode(bytes(self._value)))
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


def _decode(encoded: bytes) -> str:
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error
