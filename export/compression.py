"""Files that are decompressed by their suffixes."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""Errors of reading a file that is missing, or truncated or otherwise damaged."""
_OPENERS: dict[str, Callable[[Path], object]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file for reading its uncompressed bytes."""
    opener = _OPENERS.get(path.suffix)
    return path.open("rb") if opener is None else cast("IO[bytes]", opener(path))
