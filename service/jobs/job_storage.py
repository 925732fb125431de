"""Storage of jobs (database, blobs, temporary files), opened from the settings."""

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from sqlalchemy import make_url

from service.accounts.accounts import Accounts
from service.accounts.database import DEFAULT_URL, Database
from service.jobs.blobs import BlobStore, FolderBlobs, open_blobs
from service.jobs.store import JobLimits, JobStore
from service.jobs.tables import create_tables
from service.jobs.webhooks import WebhookOptions, read_secret
from service.settings import Settings, SettingsError

FILES_FOLDER = "dragoman-jobs"
OWN_DATABASE = "jobs.db"
LOCATION_MISSING = "jobs_files: must name a file storage that all processes on the database can reach"

logger = logging.getLogger(__name__)


class ScratchFolder:
    """A temporary folder of this process, created on first use. Thread-safe."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._folder: Path | None = None
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        """The folder's path. Raises OSError if it cannot be created."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(self._opened.enter_context(TemporaryDirectory(prefix="dragoman-jobs-")))
            return self._folder


@dataclass(frozen=True, slots=True)
class JobStorage:
    """Database, files and webhook options of jobs."""

    store: JobStore
    blobs: BlobStore
    scratch: ScratchFolder
    webhooks: WebhookOptions | None


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
    webhooks = read_webhook_options(settings)
    try:
        scratch = ScratchFolder(opened)
        blobs = open_blobs(_files_location(settings, accounts, scratch))
        database = accounts.database or _own_database(blobs, opened)
    except OSError as error:
        raise SettingsError(
            f"jobs_files: the folder cannot be used; set another, or set jobs to off: {error}"
        ) from error
    create_tables(database)
    limits = JobLimits(
        settings.max_jobs_of_key,
        settings.max_jobs_bytes,
        settings.job_lifetime_s,
        settings.document_lifetime_s,
        settings.max_jobs_bytes_of_key,
    )
    store = JobStore(database, limits, accounts.options.clock)
    return JobStorage(store, blobs, scratch, webhooks)


def read_webhook_options(settings: Settings) -> WebhookOptions | None:
    """Return how webhooks are sent; None if they are disabled.

    Raises:
        SettingsError: a secret cannot be used, or only the previous one is set.
    """
    secret, previous = settings.webhook_secret, settings.webhook_previous_secret
    if secret is None:
        if previous is not None:
            raise SettingsError("webhook_previous_secret: requires webhook_secret; set both")
        return None
    return WebhookOptions(
        read_secret(secret.get_secret_value()),
        None if previous is None else read_secret(previous.get_secret_value(), "webhook_previous_secret"),
        settings.webhook_private,
    )


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
