"""Forms, as browsers send them: application/x-www-form-urlencoded and multipart/form-data, in UTF-8.

https://url.spec.whatwg.org/#application/x-www-form-urlencoded, https://www.rfc-editor.org/info/rfc7578
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

MAX_FIELDS = 4096
"""In one request; a thousand texts come in a thousand fields."""


class FormError(ValueError):
    """A form that cannot be read; the message quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a form."""

    name: str
    """As its sender calls it: any characters, and no path to be trusted."""
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Form:
    """Values by name, in their order."""

    strings: Mapping[str, list[str]] = field(default_factory=dict)
    uploads: Mapping[str, list[Upload]] = field(default_factory=dict)


def read_urlencoded(encoded: bytes) -> dict[str, list[str]]:
    """The fields of a form, or of a URL's query.

    Raises:
        FormError: it is not UTF-8, or there are more than `MAX_FIELDS`.
    """
    try:
        pairs = parse_qsl(
            encoded.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error
    except ValueError as error:
        raise FormError(f"there are more than {MAX_FIELDS} fields") from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def read_multipart(content_type: str, body: bytes) -> Form:
    """The fields and files of a form.

    Args:
        content_type: the header's value, which names the boundary.
        body: all of it; its files stay in memory.

    Raises:
        FormError: it is malformed, ends too early, is not UTF-8 outside of its files, or there are more than
            `MAX_FIELDS`.
    """
    _, parameters = parse_options_header(content_type)
    reading = _Reading()
    try:
        parser = FormParser(
            "multipart/form-data",
            reading.take_field,
            reading.take_file,
            reading.end,
            boundary=parameters.get(b"boundary"),
            config={"MAX_MEMORY_FILE_SIZE": len(body) + 1, "UPLOAD_ERROR_ON_BAD_CTE": True},
        )
        parser.write(body)
        parser.finalize()
    except FormError:
        raise
    except FormParserError as error:
        raise FormError("it is malformed, or has no boundary") from error
    if not reading.has_ended:
        raise FormError("it ends before its last boundary")
    return Form(reading.strings, reading.uploads)


@dataclass(slots=True)
class _Reading:
    strings: dict[str, list[str]] = field(default_factory=dict)
    uploads: dict[str, list[Upload]] = field(default_factory=dict)
    has_ended: bool = False
    _num_fields: int = 0

    def take_field(self, part: Field) -> None:
        self._count()
        self.strings.setdefault(_decode(part.field_name), []).append(_decode(part.value))

    def take_file(self, part: File) -> None:
        self._count()
        part.file_object.seek(0)
        upload = Upload(_decode(part.file_name), part.file_object.read())
        part.close()
        self.uploads.setdefault(_decode(part.field_name), []).append(upload)

    def end(self) -> None:
        self.has_ended = True

    def _count(self) -> None:
        self._num_fields += 1
        if self._num_fields > MAX_FIELDS:
            raise FormError(f"there are more than {MAX_FIELDS} fields")


def _decode(encoded: bytes | None) -> str:
    try:
        return (encoded or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error
