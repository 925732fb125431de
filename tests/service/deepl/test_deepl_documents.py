"""Documents: sent in, asked after, fetched once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import deepl
import httpx
import pytest

from service.formats.registry import open_format
from tests.engine.routing.doubles import until
from tests.formats.pdf_samples import drawn
from tests.formats.rewriting import OPTIONS, texts
from tests.service.deepl.conftest import ClientOf, error_of, fetch, upload
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

Auth = dict[str, str]


def translated(client: deepl.DeepLClient, handle: deepl.DocumentHandle) -> deepl.DocumentStatus:
    until(lambda: client.translate_document_get_status(handle).status.value in {"done", "error"})
    return client.translate_document_wait_until_done(handle)


def sent_and_done(http: httpx.Client, auth: Auth, **form: str) -> tuple[str, dict[str, str]]:
    """Send `Hallo` as a document; its path and its key in JSON, once it is done."""
    data = {"target_lang": "EN", **form}
    handle = http.post("/v2/document", data=data, files={"file": ("a.txt", b"Hallo")}, headers=auth).json()
    path, body = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    until(lambda: http.post(path, data=body, headers=auth).json()["status"] == "done")
    return path, body


def test_a_document_is_sent_waited_for_and_fetched(client: deepl.DeepLClient) -> None:
    handle = upload(client, "Größe.\n\nZwei.\n")
    assert (len(bytes.fromhex(handle.document_id)), len(bytes.fromhex(handle.document_key))) == (16, 32)
    status = translated(client, handle)
    assert (status.ok, status.done, status.billed_characters) == (True, True, 11)  # of the two lines
    assert fetch(client, handle).decode() == "GRÖSSE.\n\nZWEI.\n"


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


@pytest.mark.parametrize("output", ["docx", "txt"])
def test_a_pdf_is_converted(client: deepl.DeepLClient, http: httpx.Client, auth: Auth, output: str) -> None:
    handle = client.translate_document_upload(
        drawn([[(70, 700, "ein Satz.")]]), target_lang="EN-GB", filename="a.pdf", output_format=output
    )

    assert translated(client, handle).ok
    path = f"/v2/document/{handle.document_id}/result"
    response = http.post(path, json={"document_key": handle.document_key}, headers=auth)
    assert response.headers["content-disposition"] == f"attachment; filename*=UTF-8''a.{output}"
    assert texts(open_format(f"a.{output}", OPTIONS), response.content) == ["EIN SATZ."]


def test_a_document_is_not_ready_before_it_is_done(
    client: deepl.DeepLClient, double: DoubleTranslator, released: Event
) -> None:
    handle = upload(client, "wait")
    until(double.is_waiting.is_set)
    assert client.translate_document_get_status(handle).status.value == "translating"
    with pytest.raises(deepl.DocumentNotReadyException):
        client.translate_document_download(handle)
    released.set()
    assert translated(client, handle).done


def test_a_result_is_had_once(client: deepl.DeepLClient) -> None:
    handle = upload(client)
    translated(client, handle)
    assert fetch(client, handle) == b"HALLO"
    for ask in (client.translate_document_download, client.translate_document_get_status):
        with pytest.raises(deepl.DeepLException, match="Not found"):
            ask(handle)


def test_a_result_is_a_download_under_a_name_that_does_no_harm(http: httpx.Client, auth: Auth) -> None:
    path, body = sent_and_done(http, auth, filename='../ä"X-Evil: 1;.txt')
    response = http.post(f"{path}/result", json=body, headers=auth)
    assert response.content == b"HALLO"
    assert response.headers["content-type"] == "application/octet-stream"
    expected = "attachment; filename*=UTF-8''%C3%A4%22X-Evil%3A%201%3B.txt"
    assert response.headers["content-disposition"] == expected
    assert "x-evil" not in response.headers
    assert response.headers["x-trace-id"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [("unusable\n" * 2, "a.txt: line 1: is not usable"), ("explode", "the server failed")],
)
def test_a_failure_within_a_stream_is_reported_and_not_charged(
    client_of: ClientOf, keys: Keys, text: str, problem: str
) -> None:
    key = keys.make()
    client = client_of(key)
    handle = upload(client, text)
    status = translated(client, handle)
    assert not status.ok
    assert problem in str(status.error_message)
    assert "explode" not in str(status.error_message)
    assert (keys.usage(key).characters, keys.usage(key).documents) == (0, 0)
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_download(handle)


def test_a_text_that_is_not_translated_stays_and_is_reported(
    client_of: ClientOf, keys: Keys, http: httpx.Client
) -> None:
    key = keys.make()
    client = client_of(key)
    handle = upload(client, "gut\n" * 300 + "unusable")
    assert translated(client, handle).ok

    path, body = f"/v2/document/{handle.document_id}", {"document_key": handle.document_key}
    status = http.post(path, json=body, headers={"Authorization": f"DeepL-Auth-Key {key}"}).json()
    assert status["message"] == "1 of 301 texts are not translated; the first: a.txt: line 301: is not usable"
    assert keys.usage(key).characters == 900
    assert fetch(client, handle).decode() == "GUT\n" * 300 + "unusable"


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ({"target_lang": "EN", "filename": "a.exe"}, b"x", 'Invalid file data.","detail":"a.exe: '),
        ({"target_lang": "EN", "filename": "a.docx"}, b"x", 'Invalid file data.","detail":"a.docx: '),
        ({"target_lang": "EN", "filename": "a\r\nX-Evil: 1.txt"}, b"x", "control characters"),
        ({"target_lang": "EN"}, b"\xff\xfe\xfd", "not in utf-16-le"),
        ({"target_lang": "EN"}, b"Gr\xfc\x81e", "position 3"),
        ({}, b"x", "target_lang: is missing"),
        ({"target_lang": "FR"}, b"x", "Value for 'target_lang' not supported."),
        ({"target_lang": "EN", "source_lang": "CS"}, b"x", "Value for 'source_lang' not supported."),
        ({"target_lang": "EN", "output_format": "html"}, b"x", "output_format: "),
        ({"target_lang": "EN", "output_format": "exe"}, b"x", "supported are"),
        ({"target_lang": "EN", "output_format": "pdf"}, b"x", "output_format: the output must have"),
        ({"target_lang": "EN", "filename": "a.pdf"}, b"x", "output_format: is missing"),
        ({"target_lang": "EN", "filename": "a.pdf", "output_format": "docx"}, b"x", "it is not a PDF file"),
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
    handle = upload(client)
    other = deepl.DocumentHandle(handle.document_id, "0" * 64)
    nowhere = deepl.DocumentHandle("0" * 32, handle.document_key)
    for asker, requested in ((client, other), (client, nowhere), (client_of(keys.make()), handle)):
        with pytest.raises(deepl.DeepLException, match="Not found"):
            asker.translate_document_get_status(requested)
    assert translated(client, handle).done


def test_a_document_over_the_quota_is_rejected_at_the_upload(client_of: ClientOf, keys: Keys) -> None:
    key = keys.make(characters_per_month=10)
    client = client_of(key)
    with pytest.raises(deepl.QuotaExceededException):
        upload(client, "x" * 11)
    handle = upload(client, "x" * 10)
    assert translated(client, handle).done
    assert keys.usage(key).characters == 10


def test_one_of_two_simultaneous_downloads_gets_the_document(http: httpx.Client, auth: Auth) -> None:
    for _ in range(2):
        path, body = sent_and_done(http, auth)

        def download(_: int) -> httpx.Response:
            return http.post(f"{path}/result", json=body, headers=auth)  # noqa: B023 -- before the next

        with ThreadPoolExecutor(4) as threads:
            fetched = list(threads.map(download, range(4)))
        assert sorted(each.status_code for each in fetched) == [200, 404, 404, 404]
        assert [each.content for each in fetched if each.status_code == 200] == [b"HALLO"]
