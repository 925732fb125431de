"""Models that are downloaded and removed while the server runs."""

import asyncio
import logging
import shutil
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path

from dragoman.manifest import MANIFEST_FILE
from service.http.errors import ApiError, to_any_api_error
from service.http.threads import run_in_thread, run_on_daemon_thread
from service.model_errors import (
    ModelBusy,
    ModelExists,
    ModelIsBundled,
    NoModelIndex,
    TooManyDownloads,
    UnknownModel,
)
from service.model_folders import ModelFolders
from service.model_index import IndexedModel, download, read_index, take_away
from service.model_watcher import ModelWatcher

MAX_DOWNLOADS = 4
"""Maximum number of downloads at a time."""

logger = logging.getLogger(__name__)


class DownloadState(StrEnum):
    """State of a download."""

    RUNNING = "running"
    DONE = "done"
    """The model is served."""
    FAILED = "failed"


@dataclass(eq=False, slots=True)
class ModelDownload:
    """A download, and how far it is."""

    model: IndexedModel
    received_bytes: int = 0
    """Bytes of the model that are on this machine."""
    state: DownloadState = DownloadState.RUNNING
    error: ApiError | None = None
    """Why it failed."""

    def add_bytes(self, num_bytes: int) -> None:
        self.received_bytes += num_bytes


@dataclass(eq=False, slots=True)
class ModelAdmin:
    """Downloads and removes models of the models folder. To be used on the event loop."""

    folders: ModelFolders
    index_location: str | None
    """Index of the models that can be downloaded; None if there is none."""
    watcher: ModelWatcher
    """Makes the router notice a change."""
    downloads: dict[str, ModelDownload] = field(default_factory=dict)
    """The last download of each model since the server's start, by name."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start_download(self, name: str, *, replaces: bool) -> ModelDownload:
        """Start to download a model of the index.

        Args:
            name: its name in the index.
            replaces: whether to replace a model with this name; a bundled one stays, but is not served.

        Raises:
            NoModelIndex: the settings name no index.
            ModelIndexError: the index cannot be read.
            UnknownModel: it has no such model.
            ModelExists: there is a model with this name, and `replaces` is false.
            ModelBusy: it is being downloaded.
            TooManyDownloads: as many as possible are running.
        """
        location = self.index_location
        if location is None:
            raise NoModelIndex
        self._check_can_start(name)
        index = await run_on_daemon_thread(partial(read_index, location))
        model = index.named(name)
        if not replaces and (self.folders.own / name).exists():
            raise ModelExists(name)
        self._check_can_start(name)  # again: others may have started meanwhile
        self.downloads[name] = started = ModelDownload(model)
        task = asyncio.create_task(self._download(started, location))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return started

    async def remove(self, name: str) -> None:
        """Remove a model of the models folder. Its running requests finish; new ones do not get it.

        Raises:
            UnknownModel: there is no such model.
            ModelIsBundled: it is a bundled model.
            ModelBusy: it is being downloaded or removed.
            ModelsNotWritable: the models folder cannot be written.
        """
        if self._is_running(name):
            raise ModelBusy(name)
        hidden = await run_in_thread(partial(self._take_away, name))
        await self.watcher.look()
        self.downloads.pop(name, None)
        await run_in_thread(partial(shutil.rmtree, hidden))
        logger.info("model %s was removed on request", name)

    def _take_away(self, name: str) -> Path:
        # Only a name that a listing has, as it may be `..`, and no folder of something else.
        folder = self.folders.find().get(name)
        if folder is None or not (folder / MANIFEST_FILE).is_file():
            raise UnknownModel(f"{name} is not in the models folder")
        if folder.parent != self.folders.own:
            raise ModelIsBundled(name)
        return take_away(name, self.folders.own)

    def _is_running(self, name: str) -> bool:
        known = self.downloads.get(name)
        return known is not None and known.state is DownloadState.RUNNING

    def _check_can_start(self, name: str) -> None:
        if self._is_running(name):
            raise ModelBusy(name)
        if sum(map(self._is_running, self.downloads)) >= MAX_DOWNLOADS:
            raise TooManyDownloads(MAX_DOWNLOADS)

    async def _download(self, started: ModelDownload, location: str) -> None:
        """Download a model, and have it served; record how this ends."""
        name = started.model.name
        fetch = partial(download, location, started.model, self.folders.own, started.add_bytes)
        try:
            await run_on_daemon_thread(fetch)
            await self.watcher.look()
        except Exception as error:  # noqa: BLE001 -- kept for the client
            started.error = to_any_api_error(error)
            started.state = DownloadState.FAILED
            logger.warning("cannot download the model %s: %s", name, started.error.message)
        else:
            started.state = DownloadState.DONE
            logger.info("model %s was downloaded on request", name)
