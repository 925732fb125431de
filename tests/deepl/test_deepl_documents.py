"""Documents: sent in, asked after, fetched once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest

from dragoman.bundle import open_bundle
from service import apis
from service.accounts.callers import ANYONE
from service.accounts.keys import Limits, Scope
from service.deepl import document_jobs
from service.deepl.api import deepl_api
from service.deepl.document_jobs import DocumentJobs
from service.documents.errors import StoreFull, UnknownDocument
from service.documents.store import ENTRY_SIZE_BYTES, DocumentStore
from service.front.premises import Api, Premises
from tests.deepl.conftest import ClientOf, Keys, error_of
from tests.routing.doubles import until
from tests.service.conftest import DoubleTranslator, ready_client, router_of

Auth = dict[str, str]
Waiting = Callable[[], None]


@pytest.fixture
def release(double: DoubleTranslator) -> Iterator[Waiting]:
    """Wait until a `wait` has begun, or else let it end."""
    double.released = threading.Event()
    double.is_waiting = threading.Event()
    yield double.released.set
    double.released.set()


def translated(client: deepl.DeepLClient, handle: deepl.DocumentHandle) -> deepl.DocumentStatus:
    until(lambda: client.translate_document_get_status(handle).status.value in {"done", "error"})
    return client.translate_document_wait_until_done(handle)


def test_a_document_is_sent_waited_for_and_fetched(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload("Größe.\n\nZwei.\n", target_lang="EN-GB", filename="a.txt")
    assert (len(bytes.fromhex(handle.document_id)), len(bytes.fromhex(handle.document_key))) == (16, 32)
    status = translated(client, handle)
    assert (status.ok, status.done, status.billed_characters) == (True, True, 14)
    output = BytesIO()
    client.translate_document_download(handle, output)
    assert output.getvalue().decode() == "GRÖSSE.\n\nZWEI.\n"


def test_a_file_on_the_disk_is_translated_into_another(
    client: deepl.DeepLClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Between two looks the client waits 5 s, after which a server may have closed the connection.
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 5)
    page = '<meta charset="latin1"><p>Ein <b>Mädchen</b></p>'
    (tmp_path / "in.html").write_bytes(page.encode("latin1"))
    client.translate_document_from_filepath(tmp_path / "in.html", tmp_path / "out.html", target_lang="EN-US")
    expected = '<meta charset="latin1"><p>EIN <b>MÄDCHEN</b></p>'
    assert (tmp_path / "out.html").read_bytes() == expected.encode("latin1")


def test_a_document_is_not_ready_before_it_is_done(
    client: deepl.DeepLClient, double: DoubleTranslator, release: Waiting
) -> None:
    handle = client.translate_document_upload("wait", target_lang="EN-GB", filename="a.txt")
    until(double.is_waiting.is_set)
    assert client.translate_document_get_status(handle).status.value == "translating"
    with pytest.raises(deepl.DocumentNotReadyException):
        client.translate_document_download(handle)
    release()
    assert translated(client, handle).done


def test_documents_wait_for_those_before_them(
    client: deepl.DeepLClient, double: DoubleTranslator, release: Waiting
) -> None:
    handles = [
        client.translate_document_upload(f"wait {i}", target_lang="EN-GB", filename="a.txt") for i in range(3)
    ]
    until(double.is_waiting.is_set)
    assert client.translate_document_get_status(handles[2]).status.value == "queued"
    release()
    assert all(translated(client, handle).done for handle in handles)


def test_a_result_is_had_once(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload("Hallo", target_lang="EN-GB", filename="a.txt")
    translated(client, handle)
    response = client.translate_document_download(handle)
    assert response is not None
    assert response.content == b"HALLO"
    for ask in (client.translate_document_download, client.translate_document_get_status):
        with pytest.raises(deepl.DeepLException, match="Not found"):
            ask(handle)


def test_a_result_is_a_download_under_a_name_that_does_no_harm(http: httpx.Client, auth: Auth) -> None:
    name = '../ä"\r\nX-Evil: 1;.txt'
    form = {"target_lang": "EN", "filename": name}
    handle = http.post("/v2/document", data=form, files={"file": ("x", b"Hallo")}, headers=auth).json()
    path, body = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    until(lambda: http.post(path, data=body, headers=auth).json()["status"] == "done")
    response = http.post(f"{path}/result", json=body, headers=auth)
    assert response.content == b"HALLO"
    assert response.headers["content-type"] == "application/octet-stream"
    expected = "attachment; filename*=UTF-8''..%2F%C3%A4%22%0D%0AX-Evil%3A%201%3B.txt"
    assert response.headers["content-disposition"] == expected
    assert "x-evil" not in response.headers
    assert response.headers["x-trace-id"]


def test_equal_languages_are_an_error_of_the_document(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload(
        "Hello", source_lang="EN", target_lang="EN-GB", filename="a.txt"
    )
    status = client.translate_document_get_status(handle)
    assert not status.ok
    assert str(status.error_message) == "Source and target language are equal."
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_download(handle)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("unusable", "file: 'a.txt': is not usable"),
        ("explode", "the server failed"),
        ("late", "not done within"),
    ],
)
def test_what_fails_on_the_way_is_told_and_not_charged(
    client_of: ClientOf, keys: Keys, text: str, problem: str
) -> None:
    key = keys.make()
    client = client_of(key)
    handle = client.translate_document_upload(text, target_lang="EN-GB", filename="a.txt")
    status = translated(client, handle)
    assert not status.ok
    assert problem in str(status.error_message)
    assert "explode" not in str(status.error_message)
    assert keys.usage(key).characters == 0


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ({"target_lang": "EN", "filename": "a.docx"}, b"x", "known are .txt, .html, .htm"),
        ({"target_lang": "EN"}, b"\xff\xfe\xfd", "not in utf-16-le"),
        ({"target_lang": "EN"}, b"Gr\xfc\xdfe", "byte 2"),
        ({}, b"x", "target_lang: is missing"),
        ({"target_lang": "FR"}, b"x", "target_lang: "),
        ({"target_lang": "EN", "source_lang": "CS"}, b"x", "source_lang: "),
        ({"target_lang": "EN", "output_format": "html"}, b"x", "output_format: "),
        ({"target_lang": "EN", "output_format": "pdf"}, b"x", "known are"),
        ({"target_lang": "EN", "formality": "more"}, b"x", "formality: "),
        ({"target_lang": "EN", "glossary_id": "x"}, b"x", "glossary_id: "),
    ],
)
def test_what_cannot_be_translated_is_refused_at_once(
    http: httpx.Client, auth: Auth, form: dict[str, str], content: bytes, message: str
) -> None:
    response = http.post("/v2/document", data=form, files={"file": ("a.txt", content)}, headers=auth)
    status, found = error_of(response)
    assert status == 400
    assert message in found


def test_a_document_without_a_file_is_refused(http: httpx.Client, auth: Auth) -> None:
    for form in ({"target_lang": "EN"}, {"target_lang": "EN", "file": "text"}):
        status, message = error_of(http.post("/v2/document", data=form, headers=auth))
        assert status == 400
        assert message.startswith("file: ")


def test_a_document_is_had_by_its_sender_with_its_own_key_alone(
    client: deepl.DeepLClient, client_of: ClientOf, keys: Keys
) -> None:
    handle = client.translate_document_upload("Hallo", target_lang="EN-GB", filename="a.txt")
    other = deepl.DocumentHandle(handle.document_id, "0" * 64)
    nowhere = deepl.DocumentHandle("0" * 32, handle.document_key)
    for asker, asked in ((client, other), (client, nowhere), (client_of(keys.make()), handle)):
        with pytest.raises(deepl.DeepLException, match="Not found"):
            asker.translate_document_get_status(asked)
    assert translated(client, handle).done


def test_a_document_over_the_quota_is_refused_at_once(client_of: ClientOf, keys: Keys) -> None:
    key = keys.make(Limits(characters_per_month=10))
    client = client_of(key)
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_document_upload("x" * 11, target_lang="EN-GB", filename="a.txt")
    handle = client.translate_document_upload("x" * 10, target_lang="EN-GB", filename="a.txt")
    assert translated(client, handle).done
    assert keys.usage(key).characters == 10


def test_a_key_must_be_for_documents(client_of: ClientOf, keys: Keys) -> None:
    client = client_of(keys.make(scopes=frozenset({Scope.TRANSLATE})))
    with pytest.raises(deepl.AuthorizationException, match="documents"):
        client.translate_document_upload("x", target_lang="EN-GB", filename="a.txt")


Start = Callable[[DocumentStore | None], httpx.Client]


@pytest.fixture
def own_double(bundle: Path) -> Iterator[DoubleTranslator]:
    """For a server that stops before the others."""
    translator = DoubleTranslator(open_bundle(bundle).manifest)
    yield translator
    translator.close()


@pytest.fixture
def start(
    own_double: DoubleTranslator, bundle: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Another server, with this store."""
    with ExitStack() as running:

        def begin(store: DocumentStore | None) -> httpx.Client:
            def with_store(premises: Premises) -> Api:
                return deepl_api(replace(premises, documents=store))

            monkeypatch.setattr(apis, "KNOWN", {**apis.KNOWN, "deepl": with_store})
            router = running.enter_context(router_of(own_double, bundle))
            return running.enter_context(ready_client(router, database_url=keys.url))

        yield begin


def send(http: httpx.Client, content: bytes, headers: Auth) -> httpx.Response:
    files = {"file": ("a.txt", content)}
    return http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=headers)


def test_a_server_without_room_says_so(start: Start, auth: Auth, tmp_path: Path) -> None:
    with DocumentStore(tmp_path / "small", ENTRY_SIZE_BYTES + 100, 60) as store:
        http = start(store)
        status, message = error_of(send(http, b"x" * 200, auth))
        assert status == 503
        assert "at most" in message
        assert send(http, b"x", auth).status_code == 200


def test_a_server_that_keeps_no_documents_has_no_paths_for_them(start: Start, auth: Auth) -> None:
    assert error_of(send(start(None), b"x", auth))[0] == 404


def test_what_is_under_way_when_the_server_stops_is_not_charged(
    own_double: DoubleTranslator, bundle: Path, keys: Keys
) -> None:
    key = keys.make()
    with router_of(own_double, bundle) as router:
        with ready_client(router, database_url=keys.url) as http:
            assert send(http, b"wait", {"Authorization": f"DeepL-Auth-Key {key}"}).status_code == 200
            until(own_double.is_waiting.is_set)
            assert keys.usage(key).characters == 4
        assert keys.usage(key).characters == 0
        own_double.released.set()


def test_who_has_many_documents_waiting_waits(
    client: deepl.DeepLClient,
    client_of: ClientOf,
    keys: Keys,
    double: DoubleTranslator,
    release: Waiting,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_jobs, "MAX_WAITING_OF_ONE", 1)

    def upload(sender: deepl.DeepLClient) -> deepl.DocumentHandle:
        return sender.translate_document_upload("wait", target_lang="EN-GB", filename="a.txt")

    handles = []
    for _ in range(document_jobs.NUM_AT_A_TIME):
        handle = upload(client)
        handles.append(handle)
        until(lambda: client.translate_document_get_status(handles[-1]).status.value == "translating")
    handles.append(upload(client))
    with pytest.raises(deepl.TooManyRequestsException, match="1 documents wait already"):
        upload(client)
    another = client_of(keys.make())
    other = upload(another)
    release()
    assert all(translated(client, handle).done for handle in handles)
    assert translated(another, other).done
    assert double.released.is_set()


def test_jobs_are_forgotten_when_their_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch() -> None:
        now_s = 0.0
        no_desk: Any = None  # none of these is worked on
        with DocumentStore(tmp_path / "kept", 10**6, 60) as store:
            jobs = DocumentJobs(no_desk, store, 60, lambda: now_s)
            monkeypatch.setattr(document_jobs, "MAX_JOBS", 2)
            first = jobs.add_failed(ANYONE, 1, "no")
            now_s = 30
            second = jobs.add_failed(ANYONE, 1, "no")
            with pytest.raises(StoreFull, match="2 already"):
                jobs.add_failed(ANYONE, 1, "no")
            now_s = 60
            with pytest.raises(UnknownDocument):
                jobs.find(first.id, first.key, ANYONE)
            assert jobs.find(second.id, second.key, ANYONE) is second
            jobs.add_failed(ANYONE, 1, "no")

    asyncio.run(watch())
