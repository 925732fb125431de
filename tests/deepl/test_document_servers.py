"""Documents and several servers: on one database, after a restart, with and without room."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.bundle import open_bundle
from tests.deepl.conftest import Keys, error_of
from tests.routing.doubles import until
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

Auth = dict[str, str]
Start = Callable[..., httpx.Client]


@pytest.fixture
def own_double(bundle: Path) -> Iterator[DoubleTranslator]:
    """For servers that stop before the others."""
    translator = DoubleTranslator(open_bundle(bundle).manifest)
    yield translator
    translator.close()


@pytest.fixture
def own_keys(tmp_path: Path) -> Keys:
    return Keys(f"sqlite:///{tmp_path / 'accounts.db'}")


@pytest.fixture
def own_auth(own_keys: Keys) -> Auth:
    return {"Authorization": f"DeepL-Auth-Key {own_keys.make()}"}


@pytest.fixture
def start(own_double: DoubleTranslator, bundle: Path, own_keys: Keys) -> Iterator[Start]:
    """Start a server with these settings; gives a client."""
    with ExitStack() as running:

        def begin(**settings: Any) -> httpx.Client:
            router = running.enter_context(router_of(own_double, bundle))
            given = {"database_url": own_keys.url, **settings}
            return running.enter_context(ready_client(router, **given))

        yield begin
        own_double.released.set()


def send(http: httpx.Client, content: bytes, headers: Auth) -> httpx.Response:
    files = {"file": ("a.txt", content)}
    return http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=headers)


def sent(http: httpx.Client, content: bytes, headers: Auth) -> dict[str, str]:
    response = send(http, content, headers)
    assert response.status_code == 200, response.text
    handle: dict[str, str] = response.json()
    return handle


def status_of(http: httpx.Client, handle: dict[str, str], headers: Auth) -> str:
    body = {"document_key": handle["document_key"]}
    asked = http.post(f"/v2/document/{handle['document_id']}", json=body, headers=headers)
    assert asked.status_code == 200, asked.text
    return str(asked.json()["status"])


def result_of(http: httpx.Client, handle: dict[str, str], headers: Auth) -> httpx.Response:
    body = {"document_key": handle["document_key"]}
    return http.post(f"/v2/document/{handle['document_id']}/result", json=body, headers=headers)


def test_a_document_uploaded_to_one_server_can_be_downloaded_from_another(
    start: Start, own_auth: Auth
) -> None:
    idle, working, third = start(jobs_at_a_time=0), start(), start(jobs_at_a_time=0)
    assert working.get("/v2/usage", headers=own_auth).status_code == 200
    handle = sent(idle, b"Hallo\n", own_auth)
    until(lambda: status_of(third, handle, own_auth) == "done")

    assert result_of(third, handle, own_auth).content == b"HALLO\n"
    assert result_of(idle, handle, own_auth).status_code == 404


def test_a_document_outlives_the_server_that_took_it_in(
    own_double: DoubleTranslator, bundle: Path, own_keys: Keys, own_auth: Auth, start: Start
) -> None:
    with router_of(DoubleTranslator(own_double.manifest), bundle) as router:
        settings: dict[str, Any] = {"database_url": own_keys.url, "jobs_at_a_time": 0}
        with ready_client(router, **settings) as http:
            handle = sent(http, b"Hallo\n", own_auth)
            assert status_of(http, handle, own_auth) == "queued"
    http = start()
    until(lambda: status_of(http, handle, own_auth) == "done")

    assert result_of(http, handle, own_auth).content == b"HALLO\n"


def test_a_document_is_no_job(start: Start, own_auth: Auth) -> None:
    http = start()
    mine, nobodys = sent(http, b"Hallo\n", own_auth), sent(http, b"Hallo\n", {})
    bearer = {"Authorization": f"Bearer {own_auth['Authorization'].split()[1]}"}
    for handle, headers, auth in ((mine, bearer, own_auth), (nobodys, {}, {})):
        until(lambda: status_of(http, handle, auth) == "done")  # noqa: B023 -- at once
        assert http.get("/v1/jobs", headers=headers).json()["jobs"] == []
        path = f"/v1/jobs/{handle['document_id'].lower()}"
        for what in ("", "/result", "/errors", "/events"):
            assert http.get(f"{path}{what}", headers=headers).status_code == 404
        assert http.delete(path, headers=headers).status_code == 404
        assert result_of(http, handle, auth).content == b"HALLO\n"


def test_a_document_is_not_had_without_the_key_that_it_was_sent_with(start: Start, own_auth: Auth) -> None:
    http = start()
    mine, nobodys = sent(http, b"Hallo\n", own_auth), sent(http, b"Hallo\n", {})
    assert result_of(http, mine, {}).status_code == 404
    assert result_of(http, nobodys, own_auth).status_code == 404


def test_the_ticket_of_a_document_is_not_in_the_database(
    start: Start, own_auth: Auth, tmp_path: Path
) -> None:
    handle = sent(start(jobs_at_a_time=0), b"Hallo\n", own_auth)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert handle["document_id"].lower().encode() in kept
    assert handle["document_key"].lower().encode() not in kept


def test_nothing_of_a_document_that_was_fetched_is_left(start: Start, own_auth: Auth, tmp_path: Path) -> None:
    http = start()
    handle = sent(http, b"Hallo\n", own_auth)
    until(lambda: status_of(http, handle, own_auth) == "done")
    assert result_of(http, handle, own_auth).status_code == 200

    until(lambda: not list((tmp_path / "dragoman-jobs").iterdir()))


def test_a_long_job_holds_no_document_up(start: Start, own_double: DoubleTranslator, own_auth: Auth) -> None:
    http = start()
    job = http.post("/v1/jobs", data={"target": "en"}, files={"file": ("a.txt", b"wait\n")})
    assert job.status_code == 202
    until(own_double.is_waiting.is_set)
    queued = http.post("/v1/jobs", data={"target": "en"}, files={"file": ("a.txt", b"next\n")}).json()
    handle = sent(http, b"Hallo\n", own_auth)
    until(lambda: status_of(http, handle, own_auth) == "done")

    assert http.get(f"/v1/jobs/{queued['id']}").json()["state"] == "queued"


def test_a_server_without_room_says_so(start: Start, own_auth: Auth) -> None:
    http = start(max_jobs_bytes=300)
    status, message = error_of(send(http, b"x" * 200, own_auth))
    assert status == 503
    assert "the limit of" in message
    assert send(http, b"x", own_auth).status_code == 200


@pytest.mark.parametrize("settings", [{"documents": "off"}, {"jobs": "off"}])
def test_a_server_that_takes_no_documents_has_no_paths_for_them(
    start: Start, own_auth: Auth, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert error_of(send(start(**settings), b"x", own_auth))[0] == 404
    assert ("document translation is disabled" in caplog.text) == ("jobs" in settings)


def test_what_is_under_way_when_the_server_stops_goes_back(
    own_double: DoubleTranslator, bundle: Path, own_keys: Keys, own_auth: Auth, start: Start
) -> None:
    first = DoubleTranslator(own_double.manifest)
    with (
        router_of(first, bundle) as router,
        ready_client(router, database_url=own_keys.url) as http,
    ):
        handle = sent(http, b"".join(b"slow %d\n" % i for i in range(200)), own_auth)
        until(lambda: status_of(http, handle, own_auth) == "translating")
    http = start(jobs_at_a_time=0)

    assert status_of(http, handle, own_auth) == "queued"


def test_a_key_with_many_documents_queued_is_limited(start: Start, own_keys: Keys, own_auth: Auth) -> None:
    http = start(jobs_at_a_time=0, max_jobs_of_key=1)
    job = http.post(
        "/v1/jobs",
        data={"target": "en"},
        files={"file": ("a.txt", b"x")},
        headers={"Authorization": f"Bearer {own_auth['Authorization'].split()[1]}"},
    )
    assert job.status_code == 202  # jobs are counted by themselves
    assert send(http, b"x", own_auth).status_code == 200
    status, message = error_of(send(http, b"x", own_auth))
    assert (status, "limit of 1 unfinished jobs" in message) == (429, True)

    another = {"Authorization": f"DeepL-Auth-Key {own_keys.make()}"}
    assert send(http, b"x", another).status_code == 200


def test_a_document_goes_when_its_time_is_over(start: Start, own_auth: Auth) -> None:
    http = start(document_lifetime_s=0.5)
    handle = sent(http, b"Hallo\n", own_auth)

    def is_gone() -> bool:
        body = {"document_key": handle["document_key"]}
        path = f"/v2/document/{handle['document_id']}"
        return http.post(path, json=body, headers=own_auth).status_code == 404

    until(is_gone)
    assert result_of(http, handle, own_auth).status_code == 404
