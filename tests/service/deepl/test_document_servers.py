"""Documents and several servers: on one database, after a restart, with and without room."""

from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.engine.routing.doubles import until
from tests.service.conftest import Serve, keys, models_dir, serve, translator
from tests.service.deepl.conftest import auth_of, error_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

Auth = dict[str, str]


__all__ = ["keys", "models_dir", "serve", "translator"]


@pytest.fixture
def auth(keys: Keys) -> Auth:
    return auth_of(keys.make())


@pytest.fixture
def start(serve: Serve, keys: Keys) -> Serve:
    """Start a server with these settings, on the same database as others; gives a client."""
    return partial(serve, apis="native,deepl", database_url=keys.url)


def send(http: httpx.Client, content: bytes, headers: Auth) -> httpx.Response:
    files = {"file": ("a.txt", content)}
    return http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=headers)


def sent(http: httpx.Client, content: bytes, headers: Auth) -> dict[str, str]:
    response = send(http, content, headers)
    assert response.status_code == 200, response.text
    return dict(response.json())


def status_of(http: httpx.Client, handle: dict[str, str], headers: Auth) -> str:
    body = {"document_key": handle["document_key"]}
    requested = http.post(f"/v2/document/{handle['document_id']}", json=body, headers=headers)
    assert requested.status_code == 200, requested.text
    return str(requested.json()["status"])


def result_of(http: httpx.Client, handle: dict[str, str], headers: Auth) -> httpx.Response:
    body = {"document_key": handle["document_key"]}
    return http.post(f"/v2/document/{handle['document_id']}/result", json=body, headers=headers)


def test_a_document_uploaded_to_one_server_can_be_downloaded_from_another(start: Serve, auth: Auth) -> None:
    idle, working, third = start(jobs_at_a_time=0), start(), start(jobs_at_a_time=0)
    assert working.get("/v2/usage", headers=auth).status_code == 200
    handle = sent(idle, b"Hallo\n", auth)
    until(lambda: status_of(third, handle, auth) == "done")

    assert result_of(third, handle, auth).content == b"HALLO\n"
    assert result_of(idle, handle, auth).status_code == 404


def test_a_document_is_no_job(start: Serve, auth: Auth) -> None:
    http = start()
    mine, nobodys = sent(http, b"Hallo\n", auth), sent(http, b"Hallo\n", {})
    bearer = {"Authorization": f"Bearer {auth['Authorization'].split()[1]}"}
    for handle, headers, sender in ((mine, bearer, auth), (nobodys, {}, {})):
        until(lambda: status_of(http, handle, sender) == "done")  # noqa: B023 -- at once
        assert http.get("/v1/jobs", headers=headers).json()["jobs"] == []
        path = f"/v1/jobs/{handle['document_id'].lower()}"
        for what in ("", "/result", "/errors", "/events"):
            assert http.get(f"{path}{what}", headers=headers).status_code == 404
        assert http.delete(path, headers=headers).status_code == 404
        assert result_of(http, handle, sender).content == b"HALLO\n"


def test_a_document_is_not_had_without_the_key_that_it_was_sent_with(start: Serve, auth: Auth) -> None:
    http = start()
    mine, nobodys = sent(http, b"Hallo\n", auth), sent(http, b"Hallo\n", {})
    assert result_of(http, mine, {}).status_code == 404
    assert result_of(http, nobodys, auth).status_code == 404


def test_the_key_of_a_document_is_not_in_the_database(start: Serve, auth: Auth, tmp_path: Path) -> None:
    handle = sent(start(jobs_at_a_time=0), b"Hallo\n", auth)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert handle["document_id"].lower().encode() in kept
    assert handle["document_key"].lower().encode() not in kept


def test_a_downloaded_document_is_deleted(start: Serve, auth: Auth, tmp_path: Path) -> None:
    http = start()
    handle = sent(http, b"Hallo\n", auth)
    until(lambda: status_of(http, handle, auth) == "done")
    assert result_of(http, handle, auth).status_code == 200

    until(lambda: not list((tmp_path / "dragoman-jobs").iterdir()))


def test_a_long_job_holds_no_document_up(start: Serve, translator: DoubleTranslator, auth: Auth) -> None:
    http = start()
    job = http.post("/v1/jobs", data={"target": "en"}, files={"file": ("a.txt", b"wait\n")})
    assert job.status_code == 202
    until(translator.is_waiting.is_set)
    handle = sent(http, b"Hallo\n", auth)
    until(lambda: status_of(http, handle, auth) == "done")

    assert http.get(f"/v1/jobs/{job.json()['id']}").json()["state"] == "running"


def test_a_server_without_room_says_so(start: Serve, auth: Auth) -> None:
    http = start(max_jobs_bytes=300)
    status, message = error_of(send(http, b"x" * 200, auth))
    assert status == 503
    assert "the limit of" in message
    assert send(http, b"x", auth).status_code == 200


@pytest.mark.parametrize("settings", [{"documents": "off"}, {"jobs": "off"}])
def test_a_server_that_takes_no_documents_has_no_paths_for_them(
    start: Serve, auth: Auth, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert error_of(send(start(**settings), b"x", auth))[0] == 404
    assert ("document translation is disabled" in caplog.text) == ("jobs" in settings)
