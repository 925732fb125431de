"""Forms as browsers send them: application/x-www-form-urlencoded and multipart/form-data, in UTF-8.

https://url.spec.whatwg.org/#application/x-www-form-urlencoded, https://www.rfc-editor.org/info/rfc7578
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import unquote_to_bytes

from service.http.multipart import FormError, FormParser, PartLimits
from service.http.request_bodies import PIECE_BYTES, Body

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
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8") from error


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
