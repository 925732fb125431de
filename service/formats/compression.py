"""Compressed files of any format: gzip (RFC 1952) and Zstandard (RFC 8878), processed as streams.

The compressed bytes depend on the content alone: they include no name and no time.
"""

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

from service.formats.entries import Entry, FileFormat, FileFormatError
from service.formats.parts import ChunkReader
from service.formats.review_marks import TargetText

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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


@dataclass(frozen=True, slots=True)
class CompressedFormat:
    """A file format inside a compressed file."""

    inner: FileFormat
    suffix: str
    """One of `registry.COMPRESSIONS`."""
    is_streamed: bool
    """Whether the inner format reads the file sequentially and never seeks."""
    max_bytes: int | None = None
    """Maximum unpacked size; None: `MAX_BUFFERED_BYTES`, and none for a file that is read sequentially."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with self._open_decompressed(source) as plain:
            yield from self.inner.read(plain)

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        with self._open_decompressed(source) as plain, _open_compressor(self.suffix, target) as packing:
            self.inner.write(plain, texts, packing)

    @contextmanager
    def _open_decompressed(self, source: BinaryIO) -> Iterator[BinaryIO]:
        max_bytes = self.max_bytes or (None if self.is_streamed else MAX_BUFFERED_BYTES)
        chunks = _decompressed(source, self.suffix, max_bytes)
        with io.BufferedReader(ChunkReader(chunks), _BUFFER_BYTES) as streamed:
            plain = cast("BinaryIO", streamed)
            if self.is_streamed:
                yield plain
                return
            with tempfile.TemporaryFile() as whole:
                shutil.copyfileobj(plain, whole, _BUFFER_BYTES)
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


def _decompressed(source: BinaryIO, suffix: str, max_bytes: int | None) -> Iterator[bytes]:
    """Yield the unpacked content of a file; raise FileFormatError for damage and beyond a limit."""
    counted = _CountingReader(source)
    size_bytes = 0
    try:
        for chunk in _gzip_chunks(counted) if suffix == ".gz" else _zstandard_chunks(counted):
            size_bytes += len(chunk)
            if size_bytes > MIN_RATIO_CHECK_BYTES and size_bytes > MAX_RATIO * counted.size_bytes:
                raise FileFormatError(
                    f"it unpacks to more than {MAX_RATIO} times its size; "
                    "if this is intended, unpack it first"
                )
            if max_bytes is not None and size_bytes > max_bytes:
                raise FileFormatError(
                    f"it unpacks to more than {max_bytes:,} bytes; split it, or unpack it first"
                )
            yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise FileFormatError(
            f"it cannot be unpacked beyond {size_bytes:,} bytes: {error}; it is damaged or cut"
        ) from error


def _gzip_chunks(source: _CountingReader) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=cast("BinaryIO", source), mode="rb") as unpacking:
        while chunk := unpacking.read(_BUFFER_BYTES):
            yield chunk


def _zstandard_chunks(source: _CountingReader) -> Iterator[bytes]:
    """Yield the content of frames; the library's own reader accepts a truncated file as complete."""
    frame: zstandard.ZstdDecompressionObj | None = None
    while packed := source.read(_ZSTANDARD_INPUT_BYTES):
        while packed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(packed)
            packed = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("a frame is truncated")


class _NonSeekableWriter(io.RawIOBase):
    """A sequential output file that reports that it cannot seek.

    gzip's own claims that it can, and that of Zstandard tells the position in the packed bytes.
    """

    def __init__(self, target: gzip.GzipFile | zstandard.ZstdCompressionWriter) -> None:
        super().__init__()
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        return self._target.write(memoryview(data))


@contextmanager
def _open_compressor(suffix: str, target: BinaryIO) -> Iterator[BinaryIO]:
    """Return a file that compresses what is written to it; closing it leaves the target open."""
    packing: gzip.GzipFile | zstandard.ZstdCompressionWriter
    if suffix == ".gz":
        packing = gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=GZIP_LEVEL, mtime=0)
    else:
        compressor = zstandard.ZstdCompressor(level=ZSTANDARD_LEVEL, write_checksum=True)
        packing = compressor.stream_writer(target, closefd=False)
    with packing:
        yield cast("BinaryIO", _NonSeekableWriter(packing))
