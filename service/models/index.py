"""An index of models to download, and the download of one.

docs/reference/models.md describes the file.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, BinaryIO
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from filelock import FileLock, Timeout
from pydantic import BaseModel, Field, ValidationError

from dragoman.bundle import MAX_MANIFEST_BYTES, file_sha256, open_bundle, read_bundle
from dragoman.errors import BundleError
from dragoman.manifest import MANIFEST_FILE, FileRecord
from service.models.errors import (
    ModelBusy,
    ModelIndexError,
    ModelsNotWritable,
    NotEnoughModelSpace,
    UnknownModel,
)

INDEX_FILE = "index.json"
MAX_INDEX_BYTES = 4 * 2**20
PIECE_BYTES = 2**20
TIMEOUT_S = 60.0
REMOTE = frozenset({"http", "https"})
HANDLERS = (
    *(ProxyHandler, UnknownHandler, HTTPHandler, HTTPSHandler),
    *(HTTPDefaultErrorHandler, HTTPRedirectHandler, HTTPErrorProcessor),
)
"""Handlers that follow redirects to other servers, but to no other protocol."""
MAX_SHOWN = 300
"""Maximum characters of a server's own words in a message."""

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
        """Return a model. Raises UnknownModel if there is none with this name."""
        for model in self.models:
            if model.name == name:
                return model
        names = ", ".join(sorted(model.name for model in self.models)) or "none"
        raise UnknownModel(f"{name} is not in the index; it has {names}")


def read_index(location: str) -> ModelIndex:
    """Read an index.

    Args:
        location: its address, its path, or that of the folder with `index.json` in it.

    Raises:
        ModelIndexError: it cannot be read.
    """
    with _reading(location):
        content = _read(_index_file(location), MAX_INDEX_BYTES)
    try:
        return ModelIndex.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ModelIndexError(f"{location} is not an index of models: {where}: {first['msg']}") from error


def download(location: str, model: IndexedModel, models_dir: Path, on_bytes: OnBytes) -> Path:
    """Download a model and return its folder, which appears only when all files are verified.

    Files that an interrupted download received are kept in a hidden folder, and the next one continues them.

    Args:
        location: the index's location.
        model: what to download.
        models_dir: the models folder; created if it does not exist.
        on_bytes: receives the progress.

    Raises:
        ModelIndexError: a file cannot be read, or is not the one that the index promises.
        ModelBusy: the model is being downloaded.
        NotEnoughSpace: the disk has no room for the files that are still missing.
        ModelsNotWritable: a file cannot be written.
    """
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with _locked(models_dir, model.name):
            return _download(location, model, models_dir, on_bytes)
    except OSError as error:
        raise ModelsNotWritable(error.strerror or str(error)) from error


@contextmanager
def _locked(models_dir: Path, name: str) -> Iterator[None]:
    """Keep other threads and processes from changing the model until the block ends. Raises ModelBusy."""
    path = models_dir / f".{name}.lock"
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise ModelBusy(name) from error
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is held, so that another process notices the removal
        lock.release()


def _download(location: str, model: IndexedModel, models_dir: Path, on_bytes: OnBytes) -> Path:
    partial = models_dir / f".{model.name}.partial"
    manifest = partial / MANIFEST_FILE
    with _reading(model.path):
        base = f"{_resolve(_index_file(location), model.path).rstrip('/')}/"
    if manifest.is_file() and file_sha256(manifest) != model.manifest_sha256:
        shutil.rmtree(partial)  # of another version
    if not manifest.is_file():
        content = _read(_resolve(base, MANIFEST_FILE), MAX_MANIFEST_BYTES)
        if hashlib.sha256(content).hexdigest() != model.manifest_sha256:
            raise ModelIndexError(f"{model.name}: its manifest differs from the index; ask who publishes it")
        partial.mkdir(parents=True, exist_ok=True)
        manifest.write_bytes(content)
    try:
        files = read_bundle(partial).manifest.files
        _check_space(model.name, partial, files)
        for name, record in files.items():
            _complete(_resolve(base, name), partial / name, record, on_bytes)
        open_bundle(partial)
    except BundleError as error:
        shutil.rmtree(partial)
        raise ModelIndexError(f"{model.name} is damaged: {'; '.join(error.problems)}; try again") from error
    return _put_in_place(partial, models_dir / model.name)


def _check_space(name: str, partial: Path, files: Mapping[str, FileRecord]) -> None:
    received = {file: path.stat().st_size for file in files if (path := partial / file).is_file()}
    needed_bytes = sum(max(record.size_bytes - received.get(file, 0), 0) for file, record in files.items())
    free_bytes = shutil.disk_usage(partial).free
    if needed_bytes > free_bytes:
        raise NotEnoughModelSpace(name, needed_bytes, free_bytes)


def _complete(source: str, target: Path, record: FileRecord, on_bytes: OnBytes) -> None:
    """Download what is missing of a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        if file.tell() > record.size_bytes:
            file.truncate(0)
        on_bytes(file.tell())
        if file.tell() == record.size_bytes:
            return
        stream, start = _open(source, file.tell())
        with closing(stream):
            if start != file.tell():
                on_bytes(start - file.tell())
                file.truncate(start)
            while piece := _receive(stream, min(PIECE_BYTES, record.size_bytes - file.tell()), source):
                file.write(piece)
                on_bytes(len(piece))
        if file.tell() < record.size_bytes:
            raise ModelIndexError(f"{source} ended early; try again to continue")


def _put_in_place(partial: Path, folder: Path) -> Path:
    if not folder.exists():
        return partial.rename(folder)
    old = folder.rename(folder.with_name(f".{folder.name}.old"))
    partial.rename(folder)
    shutil.rmtree(old)
    return folder


def _index_file(location: str) -> str:
    if urlsplit(location).scheme in REMOTE or not Path(location).is_dir():
        return location
    return str(Path(location, INDEX_FILE))


def _resolve(base: str, path: str) -> str:
    """Return the location of a path in an index, or below a folder whose location ends with a slash."""
    if urlsplit(base).scheme not in REMOTE:
        folder = Path(base) if base.endswith("/") else Path(base).parent
        return path if urlsplit(path).scheme in REMOTE else str(folder / path)
    resolved = urljoin(base, path)
    if urlsplit(resolved).scheme not in REMOTE:
        raise ModelIndexError(
            f"{path} is not an address; an index that was downloaded cannot name files here"
        )
    return resolved


def _read(location: str, max_bytes: int) -> bytes:
    stream, _ = _open(location, 0)
    with closing(stream):
        content = _receive(stream, max_bytes + 1, location)
    if len(content) > max_bytes:
        raise ModelIndexError(f"{location} has more than {max_bytes} bytes")
    return content


def _open(location: str, start: int) -> tuple[BinaryIO, int]:
    """Return a stream and where it starts: at `start`, or at the beginning if the server has no ranges."""
    with _reading(location):
        if urlsplit(location).scheme not in REMOTE:
            file = Path(location).open("rb")  # noqa: SIM115 -- the caller closes it
            file.seek(start)
            return file, start
        opener = OpenerDirector()
        for handler in HANDLERS:
            opener.add_handler(handler())
        headers = {"Range": f"bytes={start}-"} if start else {}
        response = opener.open(Request(location, headers=headers), timeout=TIMEOUT_S)  # noqa: S310 -- http or https
        return response, start if response.status == HTTPStatus.PARTIAL_CONTENT else 0


def _receive(stream: BinaryIO, num_bytes: int, location: str) -> bytes:
    with _reading(location, "broke off", "; try again to continue"):
        return stream.read(num_bytes)


@contextmanager
def _reading(location: str, problem: str = "cannot be read", advice: str = "") -> Iterator[None]:
    """Convert all that a broken address or server causes to a ModelIndexError of one line."""
    try:
        yield
    except HTTPError as error:
        raise ModelIndexError(
            f"{location}: the server answers {error.code} {_shown(error.reason)}"
        ) from error
    except (OSError, HTTPException, ValueError, OverflowError) as error:
        raise ModelIndexError(f"{location} {problem}: {_shown(error)}{advice}") from error


def _shown(reason: object) -> str:
    line = " ".join(str(reason).split()) or type(reason).__name__
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"
