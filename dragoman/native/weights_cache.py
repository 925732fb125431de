"""Weights as the kernels pack them, in files that processes map and share.

A file has the kernels' memory of weights, then its SHA-256. Its name stands for all that the bytes depend on.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from dragoman.bundle import Bundle
from dragoman.native.library import FOLDER

MAX_FILES, MAX_BYTES = 32, 16 * 2**30
"""Limits of a folder. Beyond them, files that were not opened for the longest time are removed."""
PREFIX = "packed-"
"""Beginning of the names of files, finished or not; others in the folder stay."""
DIGEST_BYTES = 32
PIECE_BYTES = 2**20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WeightsCache:
    """A folder of packed weights. Only users whom its processes trust may write there."""

    folder: Path

    def open(self, name: str, pack: Callable[[], Iterable[memoryview]]) -> BinaryIO | None:
        """Open a file of weights; write it first if it is missing or damaged.

        Args:
            name: from `packed_name`.
            pack: returns the weights in parts.

        Returns:
            The file; None if it cannot be written, which is logged.
        """
        path = self.folder / name
        try:
            if (file := _open_verified(path)) is None:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write(path, pack)
                _remove_oldest(self.folder)
                file = _open_verified(path)
        except OSError as error:
            problem = f"{error.filename or path}: {error.strerror}"
            logger.warning("this process has its own copy of a model's weights: %s", problem)
            return None
        return file


def packed_name(bundle: Bundle, kernels: str) -> str:
    """Return the name of the file with a verified bundle's weights for kernels of this release."""
    manifest = bundle.manifest
    files = sorted((name, record.sha256) for name, record in manifest.files.items())
    content = repr((files, manifest.sizes, kernels, _code_sha256()))
    return f"{PREFIX}{hashlib.sha256(content.encode()).hexdigest()}"


def weights_bytes(file: BinaryIO) -> int:
    """Return how many bytes of a file are weights."""
    return os.fstat(file.fileno()).st_size - DIGEST_BYTES


@cache
def _code_sha256() -> str:
    """Return a hash of all code that decides what the weights look like, in place of a version."""
    digest = hashlib.sha256()
    for path in sorted(path for path in FOLDER.iterdir() if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _open_verified(path: Path) -> BinaryIO | None:
    """Open a file whose weights are as they were written; None if it is missing or damaged."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    digest, left = hashlib.sha256(), weights_bytes(file)
    while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
        digest.update(piece)
        left -= len(piece)
    if left or file.read() != digest.digest():
        logger.warning("%s is damaged; it is written again", path)
        file.close()
        return None
    os.utime(file.fileno())
    return file


def _write(path: Path, pack: Callable[[], Iterable[memoryview]]) -> None:
    """Write a file under another name first: processes that write it at once each have a whole one."""
    with NamedTemporaryFile(prefix=PREFIX, dir=path.parent, delete=False) as file:
        try:
            digest = hashlib.sha256()
            for part in pack():
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
            file.flush()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _remove_oldest(folder: Path) -> None:
    """Remove files beyond the limits. Processes that have mapped one keep it."""
    found: dict[Path, os.stat_result] = {}
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another process has removed it
            found[path] = path.stat()
    num_bytes = 0
    for index, path in enumerate(sorted(found, key=lambda path: -found[path].st_mtime_ns)):
        num_bytes += found[path].st_size
        if index and (index >= MAX_FILES or num_bytes > MAX_BYTES):
            path.unlink(missing_ok=True)
