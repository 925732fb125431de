"""Compressed files of any format: gzip (RFC 1952) and Zstandard (RFC 8878), processed as streams.

The compressed bytes depend on the content alone: they include no name and no time.
"""

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import zstandard

from service.formats.entries import Entry, FileFormat
from service.formats.errors import FileFormatError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

COMPRESSIONS = (".gz", ".zst")
MAX_RATIO = 200
"""Maximum ratio of unpacked to packed size beyond `MIN_RATIO_CHECK_BYTES`; text has a ratio of about 5."""
MIN_RATIO_CHECK_BYTES = 2**28
"""Unpacked size up to which `MAX_RATIO` does not apply."""
MAX_BUFFERED_BYTES = 2**30
"""Maximum unpacked size of a file whose format does not read it sequentially."""
GZIP_LEVEL = 6
ZSTANDARD_LEVEL = 3

_BUFFER_BYTES = 2**17
_ZSTANDARD_INPUT_BYTES = 2**10  # a block of a few bytes may unpack to 128 KiB


class _Decompressor(Protocol):
    def read(self, size: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class CompressedFormat:
    """A file format inside a compressed file."""

    inner: FileFormat
    suffix: str
    """One of `COMPRESSIONS`."""
    is_streamed: bool
    """Whether the inner format reads the file sequentially and never seeks."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with self._open_decompressed(source) as plain:
            yield from self.inner.read(plain)

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        with self._open_decompressed(source) as plain, _open_compressor(self.suffix, target) as packing:
            self.inner.write(plain, texts, packing)

    @contextmanager
    def _open_decompressed(self, source: BinaryIO) -> Iterator[BinaryIO]:
        with io.BufferedReader(_DecompressingReader(source, self.suffix), _BUFFER_BYTES) as streamed:
            plain = cast("BinaryIO", streamed)
            if self.is_streamed:
                yield plain
                return
            with tempfile.TemporaryFile() as whole:
                while chunk := plain.read(_BUFFER_BYTES):
                    if whole.tell() + len(chunk) > MAX_BUFFERED_BYTES:
                        raise FileFormatError(
                            f"it unpacks to more than {MAX_BUFFERED_BYTES:,} bytes; unpack it first"
                        )
                    whole.write(chunk)
                whole.seek(0)
                yield cast("BinaryIO", whole)


class _CountingReader:
    """A source that counts the bytes read from it."""

    def __init__(self, source: BinaryIO) -> None:
        self.size_bytes = 0
        self._source = source

    def read(self, size: int = -1) -> bytes:
        chunk = self._source.read(size)
        self.size_bytes += len(chunk)
        return chunk


class _DecompressingReader(io.RawIOBase):
    """Unpacked content of a compressed file; raises FileFormatError for damage and beyond `MAX_RATIO`."""

    def __init__(self, source: BinaryIO, suffix: str) -> None:
        super().__init__()
        self._counted = _CountingReader(source)
        self._size_bytes = 0
        self._unpacker: _Decompressor = (
            gzip.GzipFile(fileobj=cast("BinaryIO", self._counted), mode="rb")
            if suffix == ".gz"
            else _ZstandardReader(self._counted)
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        try:
            chunk = self._unpacker.read(len(view))
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise FileFormatError(
                f"it cannot be unpacked beyond {self._size_bytes:,} bytes: {error}; it is damaged or cut"
            ) from error
        self._size_bytes += len(chunk)
        if (
            self._size_bytes > MIN_RATIO_CHECK_BYTES
            and self._size_bytes > MAX_RATIO * self._counted.size_bytes
        ):
            raise FileFormatError(
                f"it unpacks to more than {MAX_RATIO} times its size; if this is intended, unpack it first"
            )
        view[: len(chunk)] = chunk
        return len(chunk)


class _ZstandardReader:
    """Decompressor of consecutive frames. The library's own reader accepts a truncated file as complete."""

    def __init__(self, source: _CountingReader) -> None:
        self._source = source
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._open_compressor = b""
        self._plain = memoryview(b"")

    def read(self, size: int) -> bytes:
        while not self._plain:
            if not self._open_compressor:
                self._open_compressor = self._source.read(_ZSTANDARD_INPUT_BYTES)
            if not self._open_compressor:
                if self._frame is not None:
                    raise EOFError("a frame is truncated")
                return b""
            self._advance()
        chunk, self._plain = self._plain[:size], self._plain[size:]
        return bytes(chunk)

    def _advance(self) -> None:
        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._plain = memoryview(self._frame.decompress(self._open_compressor))
        self._open_compressor = b""
        if self._frame.eof:
            self._open_compressor = self._frame.unused_data
            self._frame = None


class _NonSeekableWriter(io.RawIOBase):
    """A sequential output file that reports that it cannot seek: gzip's own claims that it can."""

    def __init__(self, target: gzip.GzipFile) -> None:
        super().__init__()
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        return self._target.write(data)


@contextmanager
def _open_gzip_writer(target: BinaryIO) -> Iterator[BinaryIO]:
    with gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=GZIP_LEVEL, mtime=0) as packing:
        yield cast("BinaryIO", _NonSeekableWriter(packing))


def _open_compressor(suffix: str, target: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Return a file that compresses what is written to it; closing it leaves the target open."""
    if suffix == ".gz":
        return _open_gzip_writer(target)
    compressor = zstandard.ZstdCompressor(level=ZSTANDARD_LEVEL, write_checksum=True)
    return cast("AbstractContextManager[BinaryIO]", compressor.stream_writer(target, closefd=False))
