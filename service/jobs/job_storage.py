"""Storage of jobs (database, blobs, temporary files), opened from the settings."""

import logging
import os
import secrets
import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import Lock
from typing import Any, BinaryIO

import fsspec
from sqlalchemy import make_url

from service.accounts.accounts import Accounts
from service.accounts.database import DEFAULT_URL, Database
from service.batch.files import sync_folder
from service.jobs.store import JobStore
from service.settings.settings import Settings, SettingsError

PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FolderBlobs:
    """A folder of files, which several processes may share.

    All methods, like those of `RemoteBlobs`, wait for a disk or a network, and raise OSError if it fails.
    """

    folder: Path

    def put(self, name: str, file: Path) -> None:
        """Store a file; when this returns, the file is durable."""
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
            sync_folder(folder)

    def local(self, name: str, folder: Path) -> Path:  # noqa: ARG002 -- no copy is needed
        """Return the path of a file on this machine, which must not be written to.

        Args:
            name: name of a stored file.
            folder: the caller's folder, for a copy if one is needed.

        Raises:
            FileNotFoundError: there is no such file.
        """
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        return path

    def read(self, name: str, start: int, stop: int) -> Generator[bytes]:
        """Yield the bytes from `start` up to `stop`, in pieces. Raises FileNotFoundError."""
        with (self.folder / name).open("rb") as file:
            yield from _pieces(file, start, stop)

    def remove(self, job_id: str) -> None:
        """Remove all files of a job."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder / job_id)

    def remove_one(self, name: str) -> None:
        """Remove one file, if it exists."""
        (self.folder / name).unlink(missing_ok=True)

    def jobs(self) -> list[str]:
        """Return the ids of jobs that have files."""
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

    def read(self, name: str, start: int, stop: int) -> Generator[bytes]:
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


BlobStore = FolderBlobs | RemoteBlobs


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


def _pieces(file: BinaryIO, start: int, stop: int) -> Generator[bytes]:
    file.seek(start)
    left = stop - start
    while left > 0:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            raise OSError("a file became shorter while it was read")
        left -= len(piece)
        yield piece


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Convert all errors to OSError: each store raises its own classes."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"the file storage failed: {error}") from error


FILES_FOLDER = "dragoman-jobs"
SCRATCH_PREFIX = "dragoman-scratch-"
OWN_DATABASE = "jobs.db"
LOCATION_MISSING = "jobs_files: must name a file storage that all processes on the database can reach"

logger = logging.getLogger(__name__)


class ScratchFolder:
    """A temporary folder of this process, created on first use. Thread-safe.

    The process holds a lock on it, which ends with the process: folders without a lock are what killed
    processes left.
    """

    def __init__(self, opened: ExitStack) -> None:
        """Remove the folders of killed processes, whose files are clients' texts."""
        for left in Path(gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
            with _locked(left, waits=False) as is_locked:
                if is_locked:
                    shutil.rmtree(left, ignore_errors=True)
        self._opened = opened
        self._folder: Path | None = None
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        """The folder's path. Raises OSError if it cannot be created."""
        with self._lock:
            while self._folder is None:
                made = TemporaryDirectory(prefix=SCRATCH_PREFIX)
                self._opened.enter_context(_locked(Path(made.name), waits=True))
                folder = Path(self._opened.enter_context(made))
                if folder.is_dir():  # else a process that has just started took it for one that was left
                    self._folder = folder
            return self._folder


@contextmanager
def _locked(folder: Path, *, waits: bool) -> Iterator[bool]:
    """Lock a folder for the block. Yield whether this succeeded; not all file systems have locks."""
    with ExitStack() as opened:
        try:
            import fcntl  # noqa: PLC0415 -- not on Windows, where no folder is locked or removed

            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except (ImportError, OSError):
            is_locked = False
        else:
            is_locked = True
        yield is_locked


@dataclass(frozen=True, slots=True)
class JobStorage:
    """Database and files of jobs."""

    store: JobStore
    blobs: BlobStore
    scratch: ScratchFolder


def open_job_storage(settings: Settings, accounts: Accounts, opened: ExitStack) -> JobStorage | None:
    """Open the storage of jobs; it is closed with `opened`. Return None if jobs are disabled.

    Raises:
        SettingsError: a setting of jobs cannot be used.
        StoreError: the database cannot be used.
    """
    if settings.jobs == "off":
        return None
    if settings.jobs is None and _lacks_location(settings, accounts):
        logger.warning("jobs are disabled: %s", LOCATION_MISSING)
        return None
    try:
        scratch = ScratchFolder(opened)
        blobs = open_blobs(_files_location(settings, accounts, scratch))
        database = accounts.database or _own_database(blobs, opened)
    except OSError as error:
        raise SettingsError(
            f"jobs_files: the folder cannot be used; set another, or set jobs to off: {error}"
        ) from error
    return JobStorage(JobStore(database, settings, accounts.clock), blobs, scratch)


def _files_location(settings: Settings, accounts: Accounts, scratch: ScratchFolder) -> str:
    """Return the folder or URL of jobs' files."""
    if settings.jobs_files is not None:
        return settings.jobs_files
    if accounts.database is None:
        return str(scratch.folder / "files")
    if _lacks_location(settings, accounts):
        raise SettingsError(LOCATION_MISSING)
    url = make_url(settings.database_url or DEFAULT_URL)
    return str(Path(url.database or "").absolute().parent / FILES_FOLDER)


def _lacks_location(settings: Settings, accounts: Accounts) -> bool:
    """Return whether no location is set that all processes on the database can reach."""
    if settings.jobs_files is not None or accounts.database is None:
        return False
    return accounts.database.engine.dialect.name != "sqlite"


def _own_database(blobs: BlobStore, opened: ExitStack) -> Database:
    if not isinstance(blobs, FolderBlobs):
        raise SettingsError("jobs_files: is not a local folder; set database_url as well")
    database = Database.open(f"sqlite:///{blobs.folder / OWN_DATABASE}")
    opened.callback(database.close)
    return database
