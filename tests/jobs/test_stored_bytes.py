"""No key takes all the room there is, on the disk or on the way in."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from service.accounts.database import Database
from service.http.errors import ApiError, ErrorKind
from service.http.uploads import UploadLimits, Uploads, client_of
from service.jobs.errors import JobsFull, TooManyBytes
from service.jobs.job import JobLimits, StoredFile
from service.jobs.store import JobStore
from service.jobs.tables import stored_bytes_by_key, stored_bytes_of_key
from tests.jobs.conftest import ServeJobs, end_next, new_job, post, run_job
from tests.routing.doubles import TIMEOUT_S, until
from tests.service.conftest import ALL_APIS
from tests.service.keys import Keys


def test_the_stored_bytes_of_a_key_are_limited(serve_double: ServeJobs, keys: Keys) -> None:
    client = serve_double(max_jobs_bytes_of_key=3000)
    client.headers.update(keys.bearer())
    content = b"eins" + b" " * 996
    job = run_job(client, content)
    kept = client.get("/v1/jobs").json()
    assert kept["stored_bytes"] == job["result"]["size_bytes"] == 1000
    assert kept["max_stored_bytes"] == 3000

    refused = post(client, content + b"x")
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "quota_exceeded")
    assert "1000 bytes of the limit of 3000" in refused.text
    client.headers.update(keys.bearer())
    assert post(client, content + b"x").status_code == 202


def test_error_reports_count_as_stored_bytes_and_a_result_over_the_limit_is_not_kept(
    database: Database, store: JobStore
) -> None:
    store = JobStore(database, JobLimits(max_bytes=1000, max_bytes_of_key=500), store.clock)
    job = store.add(new_job(store))
    assert stored_bytes_of_key(database, None) == 200
    store.check_result(job, 500)
    with pytest.raises(TooManyBytes):
        store.check_result(job, 501)

    end_next(store, StoredFile("r", 50, ""), StoredFile("e", 150))
    assert stored_bytes_by_key(database) == {None: 200}
    with pytest.raises(JobsFull):
        JobStore(database, JobLimits(max_bytes=399), store.clock).add(new_job(store))


def test_a_job_whose_error_report_exceeds_the_limit_fails(serve_double: ServeJobs) -> None:
    client = serve_double(max_jobs_bytes_of_key=2000)
    job = run_job(client, b"unusable\n" * 50, file_name="x" * 200 + ".txt")

    assert job["state"] == "failed"
    assert "cannot be stored" in job["problem"]
    assert client.get("/v1/jobs").json()["stored_bytes"] == 0


def test_bytes_of_running_uploads_are_limited_per_client_and_in_total() -> None:
    uploads = Uploads(UploadLimits(max_bytes=100, max_bytes_of_client=60))
    with uploads.track("a") as first, uploads.track("a") as second, uploads.track("b") as third:
        first.grow_to(60)
        with pytest.raises(ApiError) as of_client:
            second.grow_to(1)
        third.grow_to(40)
        with pytest.raises(ApiError) as of_all:
            third.grow_to(41)
    assert [each.value.kind for each in (of_client, of_all)] == [ErrorKind.OVERLOADED, ErrorKind.NO_ROOM]

    with uploads.track("a") as alone:
        alone.grow_to(1000)


@pytest.mark.parametrize(
    "header",
    [
        (b"authorization", b"Bearer drg_1"),
        (b"authorization", b"DeepL-Auth-Key drg_1:fx"),
        (b"x-api-key", b"drg_1"),
    ],
)
def test_a_key_is_one_client_across_all_apis(header: tuple[bytes, bytes]) -> None:
    scope = {"type": "http", "headers": [header], "client": ("1.1.1.1", 1)}
    assert client_of(scope, has_keys=True) == "key drg_1"
    assert "1.1.1.1" in client_of(scope, has_keys=False)
    assert "1.1.1.1" in client_of({**scope, "headers": []}, has_keys=True)


def test_an_upload_over_the_limit_of_simultaneous_bytes_is_rejected_before_it_is_read(
    serve_double: ServeJobs,
) -> None:
    client = serve_double(apis=ALL_APIS, max_uploads_bytes_of_client=10_000)
    has_begun, may_go_on = threading.Event(), threading.Event()
    headers = {"Content-Type": "application/jsonl"}
    line = b'{"text": "' + b"x" * 4486 + b'"}\n\n'

    def slowly() -> Iterator[bytes]:
        yield line
        has_begun.set()
        may_go_on.wait(TIMEOUT_S)
        yield line

    def send_slowly() -> httpx.Response:
        url = f"{client.base_url}/v1/jobs?source=de&target=en"
        size = {**headers, "Content-Length": str(2 * len(line))}
        return httpx.post(url, content=slowly(), headers=size, timeout=TIMEOUT_S)

    def send_document() -> httpx.Response:
        """Without a target language: it becomes no job, however often it is sent."""
        return client.post("/v2/document", files={"file": ("a.txt", b"x" * 2000)})

    with ThreadPoolExecutor() as threads:
        answer = threads.submit(send_slowly)
        try:
            assert has_begun.wait(TIMEOUT_S)
            until(lambda: send_document().status_code == 429)
            refused = post(client, b"x" * 2000)
        finally:
            may_go_on.set()
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "overloaded")
    assert refused.headers["connection"] == "close"
    assert "the limit is 10000 bytes" in refused.text
    assert answer.result().status_code == 202
    assert post(client, b"x" * 2000).status_code == 202
