"""Students whose files are compressed one by one, as Firefox Translations publishes them."""

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from export.marian.archive import ArchiveLimits, OversizedError, copy_bounded
from export.original import ImportRejectedError

SUFFIX = ".gz"
COMPRESSED = (".bin.gz", ".spm.gz")


@contextmanager
def decompressed(folder: Path, limits: ArchiveLimits | None = None) -> Iterator[Path]:
    """Provide a folder of the same name in which the files of a student are not compressed.

    Args:
        folder: the folder. If both forms of a file are there, the one that is not compressed counts.
        limits: None for the defaults.

    Yields:
        A temporary folder, which is deleted at the end; `folder` itself if nothing in it is compressed.

    Raises:
        ImportRejectedError: a file is damaged, or a limit is exceeded.
    """
    limits = limits or ArchiveLimits()
    packed = [
        path
        for path in sorted(folder.iterdir())
        if path.name.endswith(COMPRESSED) and not path.with_suffix("").exists()
    ]
    if not packed:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-decompressed-") as temporary:
        plain = Path(temporary) / folder.resolve().name
        plain.mkdir()
        for path in folder.iterdir():
            if path.is_file() and path not in packed:
                (plain / path.name).symlink_to(path.resolve())
        remaining_bytes = limits.size_bytes
        for path in packed:
            max_bytes = min(remaining_bytes, int(limits.ratio * path.stat().st_size))
            remaining_bytes -= _decompress(path, plain / path.with_suffix("").name, max_bytes)
        yield plain


def _decompress(path: Path, target: Path, max_bytes: int) -> int:
    """Write the content of a .gz file, and return its size; fail if it exceeds `max_bytes`."""
    try:
        with gzip.open(path) as packed, target.open("xb") as file:
            return copy_bounded(packed, file, max_bytes, f"unpacks to more than {max_bytes} bytes, the limit")
    except OversizedError as error:
        raise ImportRejectedError(str(path), (str(error),)) from error
    except (EOFError, zlib.error, OSError) as error:
        raise ImportRejectedError(str(path), (f"cannot be decompressed: {error}",)) from error
