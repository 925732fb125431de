"""Documents: sent in, asked after, fetched once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import deepl
import docx
import httpx
import pytest

from service.accounts.keys import KeyLimits, Scope
from service.jobs.job_runner import CHUNKS
from service.jobs.worker import DOCUMENTS_AT_A_TIME
from tests.deepl.conftest import ClientOf, Keys, error_of
from tests.routing.doubles import until
from tests.service.doubles import DoubleTranslator

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
    assert (status.ok, status.done, status.billed_characters) == (True, True, 11)  # of the two lines
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


def test_the_time_left_is_told_once_it_is_known(
    client: deepl.DeepLClient, double: DoubleTranslator, release: Waiting
) -> None:
    lines = [f"Zeile {i}" for i in range(3 * CHUNKS.entries)]
    lines[-2] = "wait"
    handle = client.translate_document_upload("\n".join(lines), target_lang="EN-GB", filename="a.txt")
    until(double.is_waiting.is_set)
    until(lambda: client.translate_document_get_status(handle).seconds_remaining is not None)
    assert client.translate_document_get_status(handle).status.value == "translating"
    release()
    done = translated(client, handle)
    assert (done.done, done.seconds_remaining) == (True, None)


def test_documents_wait_for_those_before_them(
    client: deepl.DeepLClient, double: DoubleTranslator, release: Waiting
) -> None:
    at_a_time = 1 + DOCUMENTS_AT_A_TIME  # the setting's own, which takes jobs as well
    handles = [
        client.translate_document_upload(f"wait {i}", target_lang="EN-GB", filename="a.txt")
        for i in range(at_a_time + 1)
    ]
    until(double.is_waiting.is_set)
    assert client.translate_document_get_status(handles[-1]).status.value == "queued"
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
    name = '../ä"X-Evil: 1;.txt'
    form = {"target_lang": "EN", "filename": name}
    handle = http.post("/v2/document", data=form, files={"file": ("x", b"Hallo")}, headers=auth).json()
    path, body = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    until(lambda: http.post(path, data=body, headers=auth).json()["status"] == "done")
    response = http.post(f"{path}/result", json=body, headers=auth)
    assert response.content == b"HALLO"
    assert response.headers["content-type"] == "application/octet-stream"
    expected = "attachment; filename*=UTF-8''%C3%A4%22X-Evil%3A%201%3B.txt"
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
        ("gut\n" * 300 + "unusable", "a.txt: line 301: is not usable"),
        ("explode", "the server failed"),
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
    assert (keys.usage(key).characters, keys.usage(key).documents) == (0, 0)
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_download(handle)


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ({"target_lang": "EN", "filename": "a.exe"}, b"x", "supported are .txt, "),
        ({"target_lang": "EN", "filename": "a.docx"}, b"x", 'Invalid file data.","detail":"a.docx: '),
        ({"target_lang": "EN", "filename": "a\r\nX-Evil: 1.txt"}, b"x", "control characters"),
        ({"target_lang": "EN"}, b"\xff\xfe\xfd", "not in utf-16-le"),
        ({"target_lang": "EN"}, b"Gr\xfc\xdfe", "position 3"),
        ({}, b"x", "target_lang: is missing"),
        ({"target_lang": "FR"}, b"x", "Value for 'target_lang' not supported."),
        ({"target_lang": "EN", "source_lang": "CS"}, b"x", "Value for 'source_lang' not supported."),
        ({"target_lang": "EN", "output_format": "html"}, b"x", "output_format: "),
        ({"target_lang": "EN", "output_format": "pdf"}, b"x", "supported are"),
        ({"target_lang": "EN", "formality": "more"}, b"x", "'formality' is not supported"),
        ({"target_lang": "EN", "glossary_id": "x"}, b"x", "source_lang: is required with a glossary"),
    ],
)
def test_an_untranslatable_document_is_rejected_at_the_upload(
    http: httpx.Client, auth: Auth, form: dict[str, str], content: bytes, message: str
) -> None:
    response = http.post("/v2/document", data=form, files={"file": ("a.txt", content)}, headers=auth)
    assert error_of(response)[0] == 400
    assert message in response.text


def test_an_upload_without_a_file_is_rejected(http: httpx.Client, auth: Auth) -> None:
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


def test_a_document_over_the_quota_is_rejected_at_the_upload(client_of: ClientOf, keys: Keys) -> None:
    key = keys.make(KeyLimits(characters_per_month=10))
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


def test_one_of_two_simultaneous_downloads_gets_the_document(http: httpx.Client, auth: Auth) -> None:
    for _ in range(5):
        form = {"target_lang": "EN"}
        handle = http.post(
            "/v2/document", data=form, files={"file": ("a.txt", b"Hallo")}, headers=auth
        ).json()
        path, body = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        until(lambda: http.post(path, data=body, headers=auth).json()["status"] == "done")  # noqa: B023 -- at once

        def fetch(_: int) -> httpx.Response:
            return http.post(f"{path}/result", json=body, headers=auth)  # noqa: B023 -- before the next

        with ThreadPoolExecutor(4) as threads:
            fetched = list(threads.map(fetch, range(4)))
        assert sorted(each.status_code for each in fetched) == [200, 404, 404, 404]
        assert [each.content for each in fetched if each.status_code == 200] == [b"HALLO"]


def test_files_of_all_kinds_are_taken(client: deepl.DeepLClient, tmp_path: Path) -> None:
    letter = docx.Document()
    letter.add_paragraph("Ein ").add_run("fetter").bold = True
    letter.save(str(tmp_path / "letter.docx"))
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHallo\n", encoding="utf8")
    (tmp_path / "b.txt").write_bytes("Größe\r\n".encode("utf-16"))
    fetched = {}
    for name in ("letter.docx", "a.srt", "b.txt"):
        with (tmp_path / name).open("rb") as file:
            handle = client.translate_document_upload(file, target_lang="EN-GB", filename=name)
        assert translated(client, handle).ok
        output = BytesIO()
        client.translate_document_download(handle, output)
        fetched[name] = output.getvalue()

    runs = docx.Document(BytesIO(fetched["letter.docx"])).paragraphs[0].runs
    assert [(run.text, bool(run.bold)) for run in runs] == [("EIN ", False), ("FETTER", True)]
    assert fetched["a.srt"] == b"1\n00:00:01,000 --> 00:00:02,000\nHALLO\n"
    assert fetched["b.txt"] == "GRÖSSE\r\n".encode("utf-16")


def test_documents_are_charged_with_their_upload_and_counted(client_of: ClientOf, keys: Keys) -> None:
    key = keys.make()
    client = client_of(key)
    handle = client.translate_document_upload("Hallo", target_lang="EN-GB", filename="a.txt")
    usage = keys.usage(key)
    assert (usage.characters, usage.documents) == (5, 1)
    assert translated(client, handle).ok
    assert client.get_usage().character.count == 5
