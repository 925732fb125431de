"""Servers with jobs, and what a client does with them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.routing.router import Router
from service.accounts.accounts import Clock
from service.accounts.database import Database
from service.jobs.job import ClaimKind, Job, JobOutcome, JobRequest, JobState, NewJob, StoredFile, new_job_id
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage, ScratchFolder, open_blobs
from service.jobs.store import JobStore
from service.translation.source_language import DetectionMode
from tests.engine.routing.doubles import until
from tests.service.accounts.conftest import Times, database, times, url
from tests.service.conftest import TINY_BUNDLE, double_server, models_dir, ready_client, router_of
from tests.service.conftest import translator as double
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

__all__ = ["database", "double", "models_dir", "times", "url"]

ServeJobs = Callable[..., httpx.Client]
ENDED = ("done", "failed", "cancelled")
LEASE_S = 30.0


@pytest.fixture
def store(database: Database, times: Times) -> JobStore:
    return JobStore(database, clock=Clock(lambda: times.now), lease_s=LEASE_S)


@pytest.fixture
def services(tmp_path: Path, times: Times) -> Iterator[JobStorage]:
    """Storage of workers that a test starts itself."""
    with ExitStack() as opened:
        database = opened.enter_context(closing(Database.open(f"sqlite:///{tmp_path / 'jobs.db'}")))
        store = JobStore(database, clock=Clock(lambda: times.now))
        yield JobStorage(store, open_blobs(str(tmp_path / "files")), ScratchFolder(opened))


@pytest.fixture
def runner(services: JobStorage) -> Iterator[JobRunner]:
    with Router.open({"tiny": TINY_BUNDLE}) as router:
        yield JobRunner(router, services.store.database, DetectionMode.OFF, 8)


def pass_s(times: Times, seconds: float) -> None:
    times.now += timedelta(seconds=seconds)


def new_job(store: JobStore, key_id: str | None = None, *, is_document: bool = False) -> NewJob:
    """A file of 100 bytes with 10 entries and 80 characters."""
    job_request = JobRequest("a.txt", "de", "en")
    document_key = "0" * 64 if is_document else None
    return NewJob(new_job_id(store.clock.now()), key_id, job_request, 100, 10, 80, document_key)


def claimed(store: JobStore, worker: str = "worker", kind: ClaimKind = ClaimKind.ANY) -> Job:
    """Claim the next job, which there must be."""
    job = store.claim(worker, kind)
    assert job is not None
    return job


def end_next(store: JobStore, result: StoredFile | None = None, errors: StoredFile | None = None) -> Job:
    """Claim the next job, and end it as done."""
    job = claimed(store)
    store.end(job, "worker", JobOutcome(JobState.DONE, result=result, errors=errors))
    return job


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Keys of the servers' database."""
    return Keys(f"sqlite:///{tmp_path / 'dragoman.db'}")


def _starter(running: ExitStack, keys: Keys, open_router: Callable[[], Router]) -> ServeJobs:
    defaults = {"apis": "native", "database_url": keys.url}

    def start(**settings: Any) -> httpx.Client:
        return running.enter_context(
            ready_client(running.enter_context(open_router()), **{**defaults, **settings})
        )

    return start


@pytest.fixture
def serve_jobs(keys: Keys) -> Iterator[ServeJobs]:
    """Start a server with the real engine, a tiny model and these settings; gives a client."""
    with ExitStack() as running:
        yield _starter(running, keys, lambda: Router.open({"tiny": TINY_BUNDLE}))


@pytest.fixture
def serve_double(double: DoubleTranslator, models_dir: Path, keys: Keys) -> Iterator[ServeJobs]:
    """The same with the double in the engine's place."""
    with ExitStack() as running:
        yield _starter(running, keys, lambda: router_of(double, models_dir / "tiny"))
        double.released.set()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server with the double, which all tests share that leave nothing running."""
    folder = tmp_path_factory.mktemp("shared")
    url = f"sqlite:///{folder / 'dragoman.db'}"
    with double_server(folder, database_url=url) as (client, _):
        yield client


def used(keys: Keys, client: httpx.Client) -> tuple[int, int]:
    """Characters and documents of a client's key."""
    usage = keys.usage(client.headers["Authorization"])
    return usage.characters, usage.documents


def with_key(client: httpx.Client, keys: Keys, **limits: int) -> httpx.Client:
    """Give a client another key."""
    client.headers.update(keys.bearer(**limits))
    return client


def post(client: httpx.Client, content: bytes, name: str = "a.txt", **fields: Any) -> httpx.Response:
    job_request = {"source": "de", "target": "en", **fields}
    return client.post("/v1/jobs", files={"file": (name, content)}, data=job_request)


def result_of(client: httpx.Client, job: dict[str, Any], **headers: str) -> httpx.Response:
    return client.get(f"/v1/jobs/{job['id']}/result", headers=headers)


def send(client: httpx.Client, content: bytes, name: str = "a.txt", **fields: Any) -> dict[str, Any]:
    """The job that was made of a file."""
    response = post(client, content, name, **fields)
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    return job


def look(client: httpx.Client, job_id: str) -> dict[str, Any]:
    response = client.get(f"/v1/jobs/{job_id}")
    assert response.status_code == 200, response.text
    job: dict[str, Any] = response.json()
    return job


def run_job(client: httpx.Client, content: bytes, name: str = "a.txt", **fields: Any) -> dict[str, Any]:
    """The job that was made of a file, once it has ended."""
    return ended(client, send(client, content, name, **fields)["id"])


def ended(client: httpx.Client, job_id: str) -> dict[str, Any]:
    """A job once it has ended."""
    until(lambda: look(client, job_id)["state"] in ENDED)
    return look(client, job_id)


def new_memory(client: httpx.Client, source: str = "de", target: str = "en") -> str:
    pairs = [{"source": "ja", "target": "yes"}]
    sent = {"name": "x", "source": source, "target": target, "pairs": pairs}
    response = client.post("/v1/memories", json=sent)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def tmx(units: str, srclang: str = "de") -> bytes:
    """A translation memory with these units."""
    return (
        f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="{srclang}"/><body>{units}</body></tmx>'
    ).encode()


def unit(language: str, text: str) -> str:
    """A unit of a translation memory with one segment."""
    return f'<tu><tuv xml:lang="{language}"><seg>{text}</seg></tuv></tu>'


def problem_of(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])
