"""Compressed files of any format: gzip (RFC 1952) and Zstandard (RFC 8878), processed as streams.

The compressed bytes depend on the content alone: they include no name and no time.
"""

import io
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

from service.formats.entries import Entry, FileFormat, FileFormatError, TargetText
from service.formats.parts import ChunkReader

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
_INPUT_BYTES = 2**10  # a block of a few bytes may unpack to 128 KiB
_GZIP = 16 + zlib.MAX_WBITS
"""Value by which zlib reads and writes gzip."""
_FILLING = b"\0"
"""Bytes that may fill up a gzip file."""


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
        with self._open_decompressed(source) as plain, _CompressingWriter(self.suffix, target) as packing:
            self.inner.write(plain, texts, cast("BinaryIO", packing))

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


def _decompressed(source: BinaryIO, suffix: str, max_bytes: int | None) -> Iterator[bytes]:
    """Yield the unpacked content of a file; raise FileFormatError for damage and beyond a limit."""
    packed_bytes = size_bytes = 0
    frame: zlib._Decompress | zstandard.ZstdDecompressionObj | None = None
    try:
        while packed := source.read(_INPUT_BYTES):
            packed_bytes += len(packed)
            packed = packed.lstrip(_FILLING) if frame is None and size_bytes else packed
            while packed:
                frame = frame or _frame(suffix)
                chunk = frame.decompress(packed)
                size_bytes += len(chunk)
                if size_bytes > MIN_RATIO_CHECK_BYTES and size_bytes > MAX_RATIO * packed_bytes:
                    raise FileFormatError(
                        f"it unpacks to more than {MAX_RATIO} times its size; "
                        "if this is intended, unpack it first"
                    )
                if max_bytes is not None and size_bytes > max_bytes:
                    raise FileFormatError(
                        f"it unpacks to more than {max_bytes:,} bytes; split it, or unpack it first"
                    )
                yield chunk
                packed = frame.unused_data.lstrip(_FILLING) if frame.eof else b""
                frame = None if frame.eof else frame
        if frame is not None:
            raise EOFError("a frame is truncated")  # noqa: TRY301 -- one message for all damage
    except (EOFError, zlib.error, zstandard.ZstdError) as error:
        raise FileFormatError(
            f"it cannot be unpacked beyond {size_bytes:,} bytes: {error}; it is damaged or cut"
        ) from error


def _frame(suffix: str) -> "zlib._Decompress | zstandard.ZstdDecompressionObj":
    return zlib.decompressobj(_GZIP) if suffix == ".gz" else zstandard.ZstdDecompressor().decompressobj()


class _CompressingWriter(io.RawIOBase):
    """A sequential output file whose content is compressed; closing it leaves the target open."""

    def __init__(self, suffix: str, target: BinaryIO) -> None:
        super().__init__()
        self._target = target
        self._packing = (
            zlib.compressobj(GZIP_LEVEL, wbits=_GZIP)
            if suffix == ".gz"
            else zstandard.ZstdCompressor(level=ZSTANDARD_LEVEL, write_checksum=True).compressobj()
        )

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        self._target.write(self._packing.compress(bytes(data)))
        return memoryview(data).nbytes

    def close(self) -> None:
        if not self.closed:
            self._target.write(self._packing.flush())
        super().close()
