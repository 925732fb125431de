"""Plain text: lines in UTF-8, or in UTF-16 or UTF-32 with a byte order mark."""

import codecs
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from service.formats.encodings import MAX_MARK_BYTES, UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileFormatError
from service.formats.lines import LinesFormat

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 2**14


class PlainTextFormat:
    """Plain text with the entries of `LinesFormat`. The output has the encoding and the mark of the input."""

    def __init__(self, options: FileOptions) -> None:
        """Ignore the options: the format has none."""
        self._lines = LinesFormat(options)

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        lines, _ = _open_lines(source)
        return self._lines.read(lines)

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        lines, writing = _open_lines(source)
        if writing is None:
            self._lines.write(lines, texts, target)
            return
        target.write(writing.byte_order_mark)
        self._lines.write(lines, texts, cast("BinaryIO", _EncodingWriter(target, writing.encoding)))


def _open_lines(source: BinaryIO) -> tuple[BinaryIO, FileEncoding | None]:
    """Return the lines in UTF-8, and the file's encoding; None if that is UTF-8."""
    beginning = source.read(MAX_MARK_BYTES)
    writing = encoding_from_mark(beginning)
    if writing is None or writing.encoding == UTF_8:
        raw: io.RawIOBase = _ReplayReader(beginning, source)
        return cast("BinaryIO", io.BufferedReader(raw, _CHUNK_BYTES)), None
    raw = _Utf8Reader(_ReplayReader(beginning[len(writing.byte_order_mark) :], source), writing)
    return cast("BinaryIO", io.BufferedReader(raw, _CHUNK_BYTES)), writing


class _ReplayReader(io.RawIOBase):
    """A source from its beginning, part of which was already read. Closing it leaves the source open."""

    def __init__(self, beginning: bytes, source: BinaryIO) -> None:
        super().__init__()
        self._beginning = beginning
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        chunk = self._beginning[: len(view)]
        self._beginning = self._beginning[len(chunk) :]
        chunk = chunk or self._source.read(len(view))
        view[: len(chunk)] = chunk
        return len(chunk)


class _Utf8Reader(io.RawIOBase):
    """Content after a byte order mark, converted to UTF-8."""

    def __init__(self, source: _ReplayReader, writing: FileEncoding) -> None:
        super().__init__()
        self._source = source
        self._writing = writing
        self._decoder = codecs.getincrementaldecoder(writing.encoding)()
        self._num_read = len(writing.byte_order_mark)
        self._encoded = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._encoded:
            chunk = self._source.read(_CHUNK_BYTES) or b""
            self._encoded = self._decode(chunk).encode()
            if not chunk:
                break
        chunk, self._encoded = self._encoded[: len(view)], self._encoded[len(view) :]
        view[: len(chunk)] = chunk
        return len(chunk)

    def _decode(self, chunk: bytes) -> str:
        num_pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = self._num_read - num_pending + error.start
            raise FileFormatError(
                f"it is not in {self._writing.encoding}, which its byte order mark declares: byte {at} "
                f"(counted from 0): {error.reason}; save it in UTF-8"
            ) from error
        self._num_read += len(chunk)
        return text


class _EncodingWriter:
    """Output file that takes UTF-8, in whole characters, and writes another encoding."""

    def __init__(self, target: BinaryIO, encoding: str) -> None:
        self._target = target
        self._encoding = encoding

    def write(self, content: bytes) -> int:
        return self._target.write(content.decode().encode(self._encoding))
