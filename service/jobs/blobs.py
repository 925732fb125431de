"""Where jobs' files are: in a folder, or in a store that fsspec reaches, as S3 is.

A file is called `JOB/NAME`, both made here and never by a client. What has a name is whole, and is never
written again.
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


class Blobs(Protocol):
    """All methods wait for a disk or a network, and raise OSError where it fails."""

    def put(self, name: str, file: Path) -> None:
        """Keep a file; when it returns, it outlives this process."""
        ...

    def local(self, name: str, folder: Path) -> Path:
        """A file as one of this machine, which nobody writes to.

        Args:
            name: of one that is kept.
            folder: of the caller's, for a copy if one is wanted.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def read(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        """Bytes from `start` up to `stop`, in pieces.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def remove(self, job_id: str) -> None:
        """All files of a job."""
        ...

    def remove_one(self, name: str) -> None:
        """One that need not be there."""
        ...

    def jobs(self) -> list[str]:
        """Ids of jobs that have files."""
        ...


@dataclass(frozen=True, slots=True)
class FolderBlobs:
    """Files in a folder, which several processes may share."""

    folder: Path

    def put(self, name: str, file: Path) -> None:
        path = self.folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        unfinished = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
        try:
            with file.open("rb") as source, unfinished.open("xb") as target:
                shutil.copyfileobj(source, target, PIECE_BYTES)
                target.flush()
                os.fsync(target.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        for folder in (path.parent, self.folder):
            _sync_folder(folder)

    def local(self, name: str, folder: Path) -> Path:  # noqa: ARG002 -- it is here already
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
    """Files below a path of fsspec's, whose store shows an object once all of it has come."""

    files: Any
    root: str

    def check(self) -> None:
        """Write and remove a file: that a bucket is missing, or may not be written to, shows no sooner."""
        path = self._path(f"check-{secrets.token_hex(8)}")
        with _failing_as_os():
            self.files.pipe_file(path, b"")
            self.files.rm_file(path)

    def put(self, name: str, file: Path) -> None:
        with _failing_as_os():
            self.files.put_file(str(file), self._path(name))

    def local(self, name: str, folder: Path) -> Path:
        copy = folder / name.replace("/", "-")
        with _failing_as_os():
            self.files.get_file(self._path(name), str(copy))
        return copy

    def read(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        with _failing_as_os(), self.files.open(self._path(name), "rb") as file:
            yield from _pieces(file, start, stop)

    def remove(self, job_id: str) -> None:
        with _failing_as_os(), suppress(FileNotFoundError):
            self.files.rm(self._path(job_id), recursive=True)

    def remove_one(self, name: str) -> None:
        with _failing_as_os(), suppress(FileNotFoundError):
            self.files.rm_file(self._path(name))

    def jobs(self) -> list[str]:
        with _failing_as_os(), suppress(FileNotFoundError):
            return [path.rstrip("/").rpartition("/")[2] for path in self.files.ls(self.root, detail=False)]
        return []

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"


def open_blobs(where: str) -> Blobs:
    """A folder, which is made if it is not there, for no other user to look into; or a URL of fsspec's.

    Raises:
        SettingsError: it cannot be used.
    """
    try:
        if "://" not in where or where.startswith("file://"):
            folder = Path(where.removeprefix("file://")).absolute()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return FolderBlobs(folder)
        # Another process may have changed what was listed.
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
            raise OSError("a file is shorter than it was")
        left -= len(piece)
        yield piece


def _sync_folder(folder: Path) -> None:
    """A name is on the disk once its folder is."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _failing_as_os() -> Iterator[None]:
    """Stores have errors of their own, of any class."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"the store of files failed: {error}") from error
