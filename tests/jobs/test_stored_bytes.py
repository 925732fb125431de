"""Files of jobs in a folder or a store, the room that a key may take, and responses that close them."""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.types import Message

from service.accounts.database import Database
from service.accounts.keys import ANONYMOUS, DEFAULT_SCOPES, NO_LIMITS, Caller
from service.api.native.jobs.routes import requested_part
from service.http.errors import ApiError, ErrorKind
from service.http.streams import FileStream
from service.http.uploads import TrackedUpload, Uploads
from service.jobs.errors import JobsFull, TooManyBytes
from service.jobs.file_stream import begin, read_on_threads
from service.jobs.job import StoredFile
from service.jobs.job_storage import BlobStore, open_blobs
from service.jobs.store import JobStore
from service.jobs.tables import stored_bytes_by_key, stored_bytes_of_key
from service.settings.groups import JobSettings
from service.settings.settings import Settings, SettingsError
from tests.jobs.conftest import ServeJobs, end_next, new_job, post, run_job, with_key
from tests.service.conftest import ALL_APIS
from tests.service.keys import Keys
from tests.service.test_request_bodies import Connect, answer_of, connect, head

CONTENT = os.urandom(600_000)


@pytest.fixture(params=["folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    where = tmp_path / "files" if request.param == "folder" else f"memory://{uuid.uuid4().hex}/files"
    return open_blobs(str(where))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sent"
    path.write_bytes(CONTENT)
    return path


def test_a_blob_can_be_read_in_ranges_and_as_a_local_file(
    blobs: BlobStore, file: Path, tmp_path: Path
) -> None:
    blobs.put("job/input", file)

    for start, stop in ((0, len(CONTENT)), (5, 10), (262_143, 262_145), (7, 7)):
        assert b"".join(blobs.read("job/input", start, stop)) == CONTENT[start:stop]
    assert blobs.local("job/input", tmp_path).read_bytes() == CONTENT
    with pytest.raises(FileNotFoundError):
        blobs.local("job/other", tmp_path)


def test_removing_a_jobs_files_keeps_those_of_other_jobs(
    blobs: BlobStore, file: Path, tmp_path: Path
) -> None:
    for name in ("a/input", "a/result", "b/input"):
        blobs.put(name, file)
    assert sorted(blobs.jobs()) == ["a", "b"]

    for remove, name in ((blobs.remove_one, "a/input"), (blobs.remove, "a")):
        for _ in range(2):
            remove(name)
    assert blobs.jobs() == ["b"]
    assert blobs.local("b/input", tmp_path).read_bytes() == CONTENT


def test_a_blob_folder_is_readable_by_its_owner_only(tmp_path: Path, file: Path) -> None:
    open_blobs(str(tmp_path / "files")).put("job/input", file)

    assert (tmp_path / "files").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "files" / "job").iterdir()] == ["input"]


def test_a_blob_store_without_write_access_is_reported_at_startup(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise FileNotFoundError("the specified bucket does not exist")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", reject)
    with pytest.raises(SettingsError, match="bucket does not exist"):
        open_blobs("memory://missing/jobs")


def test_an_invalid_blob_location_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for where in (str(tmp_path / "file" / "folder"), "nosuchstore://bucket"):
        with pytest.raises(SettingsError, match="jobs_files"):
            open_blobs(where)


@given(st.binary(min_size=1, max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_a_range_header_selects_the_bytes(content: bytes, first: int, last: int) -> None:
    def part(spelt: str) -> bytes:
        found = requested_part(Headers({"range": spelt}), len(content), '"x"')
        return content[found.start : found.stop]

    if last:
        assert part(f"bytes=-{last}") == content[-last:]
    if first >= len(content):
        with pytest.raises(ApiError, match="range_not_satisfiable"):
            part(f"bytes={first}-")
        return
    assert part(f"bytes={first}-") == content[first:]
    if last >= first:
        assert part(f"bytes={first}-{last}") == content[first : last + 1]


@given(st.text(max_size=20))
def test_an_invalid_range_header_is_ignored(spelt: str) -> None:
    headers = Headers(raw=[(b"range", f"lines={spelt}".encode("latin-1", "replace"))])

    assert requested_part(headers, 10, '"x"').is_whole


__all__ = ["connect"]


def test_the_stored_bytes_of_a_key_are_limited(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(max_jobs_bytes_of_key=3000), keys)
    content = b"eins" + b" " * 996
    job = run_job(client, content)
    kept = client.get("/v1/jobs").json()
    assert kept["stored_bytes"] == job["result"]["size_bytes"] == 1000
    assert kept["max_stored_bytes"] == 3000

    refused = post(client, content + b"x")
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "quota_exceeded")
    assert "1000 bytes of the limit of 3000" in refused.text
    assert post(with_key(client, keys), content + b"x").status_code == 202


def test_error_reports_count_as_stored_bytes_and_a_result_over_the_limit_is_not_kept(
    database: Database, store: JobStore
) -> None:
    store = JobStore(database, Settings(max_jobs_bytes=1000, max_jobs_bytes_of_key=500), store.clock)
    job = store.add(new_job(store))
    assert stored_bytes_of_key(database, None) == 200
    store.check_result(job, 500)
    with pytest.raises(TooManyBytes):
        store.check_result(job, 501)

    end_next(store, StoredFile("r", 50, ""), StoredFile("e", 150))
    assert stored_bytes_by_key(database) == {None: 200}
    with pytest.raises(JobsFull):
        JobStore(database, Settings(max_jobs_bytes=399), store.clock).add(new_job(store))


def test_a_job_whose_error_report_exceeds_the_limit_fails(serve_double: ServeJobs) -> None:
    client = serve_double(max_jobs_bytes_of_key=2000)
    job = run_job(client, b"unusable\n" * 50, file_name="x" * 200 + ".txt")

    assert job["state"] == "failed"
    assert "cannot be stored" in job["problem"]
    assert client.get("/v1/jobs").json()["stored_bytes"] == 0


KEY = Caller("key", "of a test", DEFAULT_SCOPES, NO_LIMITS, "key:a")


@pytest.fixture
def running() -> Iterator[ExitStack]:
    """Uploads in progress; closing it ends them."""
    with ExitStack() as uploads:
        yield uploads


def track(
    running: ExitStack, uploads: Uploads, address: str = "127.0.0.1", announced_bytes: int = 0
) -> TrackedUpload:
    headers = [(b"content-length", str(announced_bytes).encode())]
    scope = {"type": "http", "headers": headers, "client": (address, 1)}
    return running.enter_context(uploads.track(scope))


def caller(name: str) -> Caller:
    return replace(KEY, key_id=name, client=f"key:{name}")


def test_bytes_of_running_uploads_are_limited_per_client_and_in_total(running: ExitStack) -> None:
    uploads = Uploads(JobSettings(max_uploads_bytes=100, max_uploads_bytes_of_client=60))
    first, second = track(running, uploads), track(running, uploads)
    third = track(running, uploads, "127.0.0.2")
    for upload, name in ((first, "a"), (second, "a"), (third, "b")):
        upload.authenticate(caller(name))
    first.grow_to(60)
    with pytest.raises(ApiError) as of_client:
        second.grow_to(1)
    third.grow_to(20)
    with pytest.raises(ApiError) as of_all:
        third.grow_to(21)  # it would have more than it leaves to others
    assert [each.value.kind for each in (of_client, of_all)] == [ErrorKind.OVERLOADED, ErrorKind.NO_ROOM]

    running.close()
    track(running, uploads).grow_to(1000)  # alone


def test_a_client_finds_space_for_an_upload_next_to_any_others(running: ExitStack) -> None:
    uploads = Uploads(JobSettings(max_uploads_bytes=10_000, max_uploads_bytes_of_client=10_000))
    track(running, uploads).grow_to(1)
    for number in range(9):
        upload = track(running, uploads)
        upload.authenticate(caller(str(number)))
        with suppress(ApiError):
            for size_bytes in range(10_001):  # as many as it can get
                upload.grow_to(size_bytes)
    last = track(running, uploads)
    last.authenticate(caller("last"))
    last.grow_to(10)


def test_only_a_valid_key_reserves_what_it_announces(running: ExitStack) -> None:
    uploads = Uploads(JobSettings(max_uploads_bytes=100, max_uploads_bytes_of_client=80))
    _, anonymous, of_key, of_same_key = (
        track(running, uploads, announced_bytes=announced_bytes) for announced_bytes in (90, 90, 40, 40)
    )
    anonymous.authenticate(replace(ANONYMOUS, client="address:127.0.0.1"))
    of_key.authenticate(KEY)
    with pytest.raises(ApiError, match="40 of at most 100 bytes"):
        of_same_key.authenticate(KEY)


def test_strangers_at_one_address_have_a_small_share_together(running: ExitStack) -> None:
    uploads = Uploads(JobSettings(max_uploads_bytes=1000, max_uploads_bytes_of_client=80))
    first, second, elsewhere = (
        track(running, uploads),
        track(running, uploads),
        track(running, uploads, "127.0.0.2"),
    )
    first.grow_to(20)
    with pytest.raises(ApiError, match="the limit is 20 bytes"):
        second.grow_to(1)
    elsewhere.grow_to(20)
    second.authenticate(KEY)
    second.grow_to(1)


def test_bytes_that_strangers_announce_take_no_room_from_others(
    serve_double: ServeJobs, keys: Keys, connect: Connect
) -> None:
    """Credentials of another scheme are no key: the key may still be in the body."""
    client = serve_double(apis=ALL_APIS, requires_key=True, max_uploads_bytes=20_000)
    for number in range(20):
        head = (
            "POST /v2/document HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            f"Authorization: Basic {number}\r\nContent-Length: 20000\r\n\r\n--x\r\n"
        )
        connect(client, head.encode())
    assert post(with_key(client, keys), b"eins" * 1000).status_code == 202


def test_an_upload_over_the_limit_of_simultaneous_bytes_is_rejected_before_it_is_read(
    serve_double: ServeJobs, keys: Keys, connect: Connect
) -> None:
    client = with_key(serve_double(apis=ALL_APIS, max_uploads_bytes_of_client=10_000), keys)
    lines = b'{"text": "' + b"x" * 8988 + b'"}\n'
    authorization = f"Authorization: {client.headers['Authorization']}"
    path = "/v1/jobs?source=de&target=en"
    request_head = head(path, len(lines), authorization, "Expect: 100-continue", kind="application/jsonl")
    slow = connect(client, request_head)
    assert slow.recv(1000).startswith(b"HTTP/1.1 100 "), "the server reads it, so it has counted it"

    refused = post(client, b"x" * 2000)
    deepl_key = {"Authorization": client.headers["Authorization"].replace("Bearer", "DeepL-Auth-Key")}
    document = client.post("/v2/document", files={"file": ("a.txt", b"x" * 2000)}, headers=deepl_key)

    assert document.status_code == 429
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "overloaded")
    assert refused.headers["connection"] == "close"
    assert "the limit is 10000 bytes" in refused.text
    slow.sendall(lines)
    assert answer_of(slow)[0] == 202
    assert post(client, b"x" * 2000).status_code == 202


Result = TypeVar("Result")
PIECES = 3


class FileOfPieces:
    """Pieces of an open file, and whether it is closed."""

    is_open = False

    def read(self) -> Generator[bytes]:
        self.is_open = True
        try:
            for number in range(PIECES):
                yield b"%d" % number
        finally:
            self.is_open = False

    async def stream(self) -> AsyncGenerator[bytes]:
        async def run(ask: Callable[[], Result]) -> Result:
            return await asyncio.to_thread(ask)

        return await read_on_threads(self.read(), run)


async def receive() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("waits for ever")


def respond(stream: AsyncGenerator[bytes], send: Callable[[Message], Awaitable[None]]) -> Awaitable[None]:
    response = FileStream(stream, 200, {}, "text/plain")
    return response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)


@pytest.mark.parametrize("at", range(PIECES + 2))
def test_file_is_closed_at_whatever_message_the_response_fails(at: int) -> None:
    file = FileOfPieces()
    kept: list[BaseException] = []

    async def run() -> None:
        num_sent = 0

        async def send(message: Message) -> None:
            nonlocal num_sent
            num_sent += 1
            if num_sent > at:
                raise ConnectionError(message["type"])

        stream = await file.stream()
        assert file.is_open
        try:
            await respond(stream, send)
        except BaseException as error:  # noqa: BLE001 -- its traceback keeps the generator alive
            kept.append(error)
        assert not file.is_open

    asyncio.run(run())
    assert kept


def test_file_is_closed_when_the_client_leaves_at_once() -> None:
    file = FileOfPieces()

    async def run() -> None:
        async def leave() -> Message:
            return {"type": "http.disconnect"}

        async def send(_: Message) -> None:
            await asyncio.Event().wait()

        stream = await file.stream()
        await FileStream(stream, 200, {}, "text/plain")({"type": "http"}, leave, send)
        assert not file.is_open

    asyncio.run(run())


def test_error_of_opening_is_raised_before_the_response_begins(tmp_path: Path) -> None:
    def missing() -> Generator[bytes]:
        with (tmp_path / "none").open("rb") as file:
            yield file.read()

    async def run(ask: Callable[[], Result]) -> Result:
        return ask()

    with pytest.raises(FileNotFoundError):
        asyncio.run(read_on_threads(missing(), run))


def test_begun_generator_runs_its_end_when_it_is_closed_unread() -> None:
    ends: list[str] = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b""
        finally:
            ends.append("ended")

    async def run() -> None:
        await (await begin(pieces())).aclose()

    asyncio.run(run())
    assert ends == ["ended"]
