"""Text files that are decompressed by their suffixes."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

_OPENERS: dict[str, Callable[[Path], object]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def read_lines(path: Path, error_type: type[Exception]) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without their ends, of which each has a line feed.

    Raises:
        Exception: of `error_type`; the file is missing, damaged or not UTF-8.
    """
    number = 0
    try:
        with _open_decompressed(path) as lines:
            for line in lines:
                number += 1
                yield line.decode("utf8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise error_type(f"{path}:{number}: not UTF-8: {error}") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        problem = getattr(error, "strerror", None) or f"cannot be read after line {number}: {error}"
        raise error_type(f"{path}: {problem}") from error


def _open_decompressed(path: Path) -> IO[bytes]:
    opener = _OPENERS.get(path.suffix)
    return path.open("rb") if opener is None else cast("IO[bytes]", opener(path))
