"""Storage of jobs' files: a folder, or a remote store that fsspec supports, such as S3.

A file is named `JOB/NAME`; the server chooses both, never a client. A file with a name is complete and never
rewritten.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import fsspec

from service.settings import SettingsError

PIECE_BYTES = 256 * 1024


class BlobStore(Protocol):
    """A store of files. All methods wait for a disk or a network, and raise OSError if it fails."""

    def put(self, name: str, file: Path) -> None:
        """Store a file; when this returns, the file is durable."""
        ...

    def local(self, name: str, folder: Path) -> Path:
        """Return the path of a file on this machine, which must not be written to.

        Args:
            name: name of a stored file.
            folder: the caller's folder, for a copy if one is needed.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def read(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes from `start` up to `stop`, in pieces.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def remove(self, job_id: str) -> None:
        """Remove all files of a job."""
        ...

    def remove_one(self, name: str) -> None:
        """Remove one file, if it exists."""
        ...

    def jobs(self) -> list[str]:
        """Return the ids of jobs that have files."""
        ...


@dataclass(frozen=True, slots=True)
class FolderBlobs:
    """A folder of files, which several processes may share."""

    folder: Path

    def put(self, name: str, file: Path) -> None:
        path = self.folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
        try:
            with file.open("rb") as source, temporary.open("xb") as target:
                shutil.copyfileobj(source, target, PIECE_BYTES)
                target.flush()
                os.fsync(target.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        for folder in (path.parent, self.folder):
            _sync_folder(folder)

    def local(self, name: str, folder: Path) -> Path:  # noqa: ARG002 -- no copy is needed
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        return path

    def read(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        with (self.folder / name).open("rb") as file:
            yield from _pieces(file, start, stop)

    def remove(self, job_id: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder / job_id)

    def remove_one(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def jobs(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.is_dir()]


@dataclass(frozen=True, slots=True)
class RemoteBlobs:
    """Files below a path in an fsspec store, which lists an object only once its upload is complete."""

    files: Any
    root: str

    def check(self) -> None:
        """Write and remove a file: only this shows that a bucket is missing or read-only."""
        path = self._path(f"check-{secrets.token_hex(8)}")
        with _as_os_errors():
            self.files.pipe_file(path, b"")
            self.files.rm_file(path)

    def put(self, name: str, file: Path) -> None:
        with _as_os_errors():
            self.files.put_file(str(file), self._path(name))

    def local(self, name: str, folder: Path) -> Path:
        copy = folder / name.replace("/", "-")
        with _as_os_errors():
            self.files.get_file(self._path(name), str(copy))
        return copy

    def read(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        with _as_os_errors(), self.files.open(self._path(name), "rb") as file:
            yield from _pieces(file, start, stop)

    def remove(self, job_id: str) -> None:
        with _as_os_errors(), suppress(FileNotFoundError):
            self.files.rm(self._path(job_id), recursive=True)

    def remove_one(self, name: str) -> None:
        with _as_os_errors(), suppress(FileNotFoundError):
            self.files.rm_file(self._path(name))

    def jobs(self) -> list[str]:
        with _as_os_errors(), suppress(FileNotFoundError):
            return [path.rstrip("/").rpartition("/")[2] for path in self.files.ls(self.root, detail=False)]
        return []

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"


def open_blobs(where: str) -> BlobStore:
    """Open a folder, which is created if missing and private to this user, or a URL that fsspec supports.

    Raises:
        SettingsError: the folder or the URL cannot be used.
    """
    try:
        if "://" not in where or where.startswith("file://"):
            folder = Path(where.removeprefix("file://")).absolute()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return FolderBlobs(folder)
        # Cached listings would hide the changes of other processes.
        files, root = fsspec.url_to_fs(where, use_listings_cache=False)
        remote = RemoteBlobs(files, root.rstrip("/"))
        remote.check()
    except (OSError, ValueError, ImportError) as error:
        raise SettingsError(f"jobs_files: {where} cannot be used: {error}") from error
    return remote


def _pieces(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    file.seek(start)
    left = stop - start
    while left > 0:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            raise OSError("a file became shorter while it was read")
        left -= len(piece)
        yield piece


def _sync_folder(folder: Path) -> None:
    """Flush a folder to disk: a new file name is durable only after that."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Convert all errors to OSError: each store raises its own classes."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"the file storage failed: {error}") from error
