"""Text in lines: in UTF-8, in UTF-16 or UTF-32 with a byte order mark, or in Windows-1252."""

import codecs
import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

from service.formats.encodings import MAX_MARK_BYTES, UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import Entry, FileFormatError
from service.formats.lines import LinesFormat
from service.formats.parts import BytesFormat, ChunkReader, encode
from service.formats.review_marks import TargetText

_CHUNK_BYTES = 2**14


class EncodedFormat(BytesFormat):
    """Base of formats of lines. The output has the encoding and the mark of the input."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return super().read(_open_lines(source)[0])

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        lines, writing = _open_lines(source)
        if writing is None:
            super().write(lines, texts, target)
            return
        target.write(writing.byte_order_mark)
        super().write(lines, texts, cast("BinaryIO", _EncodingWriter(target, writing.encoding)))


class PlainTextFormat(EncodedFormat, LinesFormat):
    """Plain text with the entries of `LinesFormat`."""


def _open_lines(source: BinaryIO) -> tuple[BinaryIO, FileEncoding | None]:
    """Return the lines in UTF-8, and the file's encoding; None if that is UTF-8."""
    beginning = source.read(MAX_MARK_BYTES)
    writing = encoding_from_mark(beginning)
    if writing is None and source.seekable():
        source.seek(0)
        writing = FileEncoding(_LEGACY) if _is_legacy(source) else None
        source.seek(0)
        beginning = b""
    is_utf_8 = writing is None or writing.encoding == UTF_8
    chunks = _chunks(beginning, source)
    if writing is not None and not is_utf_8:
        chunks = _recoded(_chunks(beginning.removeprefix(writing.byte_order_mark), source), writing)
    lines = cast("BinaryIO", io.BufferedReader(ChunkReader(chunks), _CHUNK_BYTES))
    return lines, None if is_utf_8 else writing


_LEGACY = "cp1252"
_NUM_CLEAR = 1000
"""Characters of UTF-8 without which a file is read to its end."""
_VALID, _INVALID = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]"), re.compile("[\udc80-\udcff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffd]")
"""Characters of no text; U+FFFD stands for bytes that Windows-1252 lacks."""


def _is_legacy(source: BinaryIO) -> bool:
    """Return whether a file is not UTF-8, but may be Windows-1252: most of what is not ASCII is no UTF-8."""
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    num_valid = num_invalid = 0
    for chunk in chain(iter(lambda: source.read(_CHUNK_BYTES), b""), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        if text.isascii():
            continue
        num_valid += len(_VALID.findall(text))
        num_invalid += len(_INVALID.findall(text))
        is_clear = num_valid > num_invalid + _NUM_CLEAR
        if is_clear or (num_invalid and _NO_TEXT.search(chunk.decode(_LEGACY, "replace"))):
            return False
    return num_invalid > num_valid


def _chunks(beginning: bytes, source: BinaryIO) -> Iterator[bytes]:
    """Yield a source from its beginning, which was already read."""
    yield beginning
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def _recoded(chunks: Iterator[bytes], writing: FileEncoding) -> Iterator[bytes]:
    """Yield content after a byte order mark, converted to UTF-8."""
    decoder = codecs.getincrementaldecoder(writing.encoding)()
    num_read = len(writing.byte_order_mark)
    for chunk in chain(filter(None, chunks), [b""]):
        num_pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = num_read - num_pending + error.start
            raise FileFormatError(
                f"it is not in {writing.encoding}, which its byte order mark declares: byte {at} "
                f"(counted from 0): {error.reason}; save it in UTF-8"
            ) from error
        num_read += len(chunk)
        yield text.encode()


class _EncodingWriter:
    """Output file that takes UTF-8, in whole characters, and writes another encoding."""

    def __init__(self, target: BinaryIO, encoding: str) -> None:
        self._target = target
        self._encoding = encoding

    def write(self, content: bytes) -> int:
        return self._target.write(encode(content.decode(), self._encoding))
