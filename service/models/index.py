"""An index of models to download, and the download of one.

docs/reference/models.md describes the file.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from filelock import FileLock, Timeout
from pydantic import BaseModel, Field

from dragoman.bundle import MAX_MANIFEST_BYTES, file_sha256, open_bundle, read_bundle
from dragoman.errors import BundleError
from dragoman.manifest import MANIFEST_FILE, FileRecord
from service.models import locations
from service.models.errors import ModelError

INDEX_FILE = "index.json"
MAX_INDEX_BYTES = 4 * 2**20
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""Name that is safe as that of a folder."""
OnBytes = Callable[[int], object]
"""Called with the number of bytes that were just received."""


class IndexedModel(BaseModel, frozen=True):
    """A model in an index."""

    name: ModelName
    """Name of its folder below the models folder."""
    path: str
    """Folder of its files: relative to the index, or an address."""
    manifest_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of its manifest, which has those of the other files."""
    size_bytes: Annotated[int, Field(ge=0)]
    pairs: list[str]
    """Such as `de -> en`; for people."""
    licence: str


class ModelIndex(BaseModel, frozen=True):
    """Models that can be downloaded."""

    models: list[IndexedModel]

    def named(self, name: str) -> IndexedModel:
        """Return a model. Raises ModelError if there is none with this name."""
        for model in self.models:
            if model.name == name:
                return model
        names = ", ".join(sorted(model.name for model in self.models)) or "none"
        raise ModelError(f"{name} is not in the index; it has {names}")


def read_index(location: str) -> ModelIndex:
    """Read an index.

    Args:
        location: its address, its path, or that of the folder with `index.json` in it.

    Raises:
        ModelError: it cannot be read.
    """
    with locations.reading(location):
        content = locations.read_location(_index_file(location), MAX_INDEX_BYTES)
    return locations.parse_content(ModelIndex, content, location)


def download(location: str, model: IndexedModel, models_dir: Path, on_bytes: OnBytes) -> Path:
    """Download a model and return its folder, which appears only when all files are verified.

    Files that an interrupted download received are kept in a hidden folder, and the next one continues them.

    Args:
        location: the index's location.
        model: what to download.
        models_dir: the models folder; created if it does not exist.
        on_bytes: receives the progress.

    Raises:
        ModelError: a file cannot be read or written, or is not the one that the index promises; the model is
            being downloaded; or the disk has no room for the files that are still missing.
    """
    try:
        with _locked(models_dir, model.name):
            return _download(location, model, models_dir, on_bytes)
    except OSError as error:
        raise ModelError(f"cannot write to the models folder: {error.strerror or error}") from error


@contextmanager
def _locked(models_dir: Path, name: str) -> Iterator[None]:
    """Keep other threads and processes from changing the model until the block ends. Raises ModelError."""
    path = models_dir / f".{name}.lock"
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()  # which makes the folder
    except Timeout as error:
        raise ModelError(f"{name} is being downloaded; try again later") from error
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is held, so that another process notices the removal
        lock.release()


def _download(location: str, model: IndexedModel, models_dir: Path, on_bytes: OnBytes) -> Path:
    partial = models_dir / f".{model.name}.partial"
    manifest = partial / MANIFEST_FILE
    with locations.reading(model.path):
        base = f"{locations.resolve(_index_file(location), model.path).rstrip('/')}/"
    if manifest.is_file() and file_sha256(manifest) != model.manifest_sha256:
        shutil.rmtree(partial)  # of another version
    if not manifest.is_file():
        content = locations.read_location(locations.resolve(base, MANIFEST_FILE), MAX_MANIFEST_BYTES)
        if hashlib.sha256(content).hexdigest() != model.manifest_sha256:
            raise ModelError(f"{model.name}: its manifest differs from the index; ask who publishes it")
        partial.mkdir(parents=True, exist_ok=True)
        manifest.write_bytes(content)
    try:
        files = read_bundle(partial).manifest.files
        _check_space(model.name, partial, files)
        for name, record in files.items():
            _complete(locations.resolve(base, name), partial / name, record, on_bytes)
        open_bundle(partial)
    except BundleError as error:
        shutil.rmtree(partial)
        raise ModelError(f"{model.name} is damaged: {'; '.join(error.problems)}; try again") from error
    return _put_in_place(partial, models_dir / model.name)


def _check_space(name: str, partial: Path, files: Mapping[str, FileRecord]) -> None:
    received = {file: path.stat().st_size for file in files if (path := partial / file).is_file()}
    needed_bytes = sum(max(record.size_bytes - received.get(file, 0), 0) for file, record in files.items())
    free_bytes = shutil.disk_usage(partial).free
    if needed_bytes > free_bytes:
        raise ModelError(
            f"{name} needs {needed_bytes} more bytes of disk space, but only {free_bytes} are free; "
            "free some space, or choose another models_dir"
        )


def _complete(source: str, target: Path, record: FileRecord, on_bytes: OnBytes) -> None:
    """Download what is missing of a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        if file.tell() > record.size_bytes:
            file.truncate(0)
        on_bytes(file.tell())
        if file.tell() == record.size_bytes:
            return
        stream, start = locations.open_location(source, file.tell())
        with closing(stream):
            if start != file.tell():
                on_bytes(start - file.tell())
                file.truncate(start)
            locations.append(stream, file, record.size_bytes, source, on_bytes)
        if file.tell() < record.size_bytes:
            raise ModelError(f"{source} ended early; try again to continue")


def _put_in_place(partial: Path, folder: Path) -> Path:
    if not folder.exists():
        return partial.rename(folder)
    old = folder.rename(folder.with_name(f".{folder.name}.old"))
    partial.rename(folder)
    shutil.rmtree(old)
    return folder


def _index_file(location: str) -> str:
    if urlsplit(location).scheme in locations.REMOTE or not Path(location).is_dir():
        return location
    return str(Path(location, INDEX_FILE))
