"""`POST /translate_file` and `GET /download_file`."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from service import apis
from service.accounts.keys import Limits, Scope
from service.documents.store import DocumentStore
from service.libretranslate.api import libretranslate_api
from tests.libretranslate.conftest import LIFETIME_S, MakeKey, Serve, error_of, with_store

PAIR = {"source": "de", "target": "en"}


def send(
    client: httpx.Client, name: str, content: bytes, fields: dict[str, str] | None = None
) -> httpx.Response:
    return client.post("/translate_file", data=fields or PAIR, files={"file": (name, content)})


def fetch(client: httpx.Client, sent: httpx.Response) -> httpx.Response:
    assert sent.status_code == 200, sent.text
    return client.get(sent.json()["translatedFileUrl"])


def test_a_text_is_translated_and_can_be_fetched(client: httpx.Client) -> None:
    sent = send(client, "Brief.txt", "Grüße\n\nHallo\n".encode())

    url = sent.json()["translatedFileUrl"]
    assert url.startswith(f"{client.base_url}/download_file/")
    assert url.endswith(".Brief.txt")
    for _ in range(2):  # it stays
        fetched = client.get(url)
        assert fetched.content == "Grüße|german\n\nHallo|german\n".encode()
        assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''Brief.txt"
        assert fetched.headers["x-content-type-options"] == "nosniff"
        assert fetched.headers["access-control-allow-origin"] == "*"


def test_a_page_keeps_its_markup(client: httpx.Client) -> None:
    fetched = fetch(client, send(client, "a.html", b"<h1>Hallo</h1><p>Welt</p>"))

    assert fetched.content == b"<h1>Hallo|german</h1><p>Welt|german</p>"
    assert fetched.headers["content-type"] == "application/octet-stream"


def test_the_language_of_a_file_is_detected(client: httpx.Client) -> None:
    text = "Das ist ein schönes Haus am Ufer des Flusses"

    assert fetch(client, send(client, "a.txt", text.encode(), {"source": "auto", "target": "en"})).text == (
        f"{text}|german"
    )


def test_a_file_in_the_target_language_comes_back_as_it_is(client: httpx.Client) -> None:
    content = b"\xef\xbb\xbfHello\r\n"

    assert fetch(client, send(client, "a.txt", content, {"source": "en", "target": "EN"})).content == content


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Übung 1 & 2.txt", "Übung 1 & 2.txt"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Eigene\\a.txt", "a.txt"),
        ("a%2fb?c#d.txt", "a%2fb?c#d.txt"),
        ("x" * 1000 + ".txt", "x" * 146 + ".txt"),
        ("漢" * 300 + ".txt", "漢" * 146 + ".txt"),
    ],
)
def test_whatever_a_file_is_called_it_can_be_fetched_under_its_name(
    client: httpx.Client, name: str, shown: str
) -> None:
    sent = send(client, name, b"Hallo")

    fetched = fetch(client, sent)
    assert fetched.content == b"Hallo|german"
    assert unquote(fetched.headers["content-disposition"]) == f"attachment; filename*=UTF-8''{shown}"
    assert unquote(urlsplit(sent.json()["translatedFileUrl"]).path).endswith(f".{shown}")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.docx", b"x", "Invalid request: file format not supported"),
        ("txt", b"x", "Invalid request: file format not supported"),
        ("a.txt", b"\xff\xfe\xfd", "Invalid request: 'a.txt'"),
        ("a.txt", b"unusable", "Invalid request: 'a.txt': is not usable"),
    ],
)
def test_a_file_that_cannot_be_translated_is_refused(
    client: httpx.Client, name: str, content: bytes, words: str
) -> None:
    status, message = error_of(send(client, name, content))

    assert status == 400
    assert message.startswith(words)


def test_a_form_without_a_file_or_a_field_is_refused(client: httpx.Client) -> None:
    assert error_of(client.post("/translate_file", data=PAIR)) == (
        400,
        "Invalid request: missing file parameter",
    )
    assert error_of(client.post("/translate_file", data=PAIR | {"file": "text"}))[0] == 400
    sent = send(client, "a.txt", b"Hallo", {"target": "en"})
    assert error_of(sent) == (400, "Invalid request: missing source parameter")
    sent = send(client, "a.txt", b"Hallo", {**PAIR, "target": "zz"})
    assert error_of(sent) == (400, "zz is not supported")


@pytest.mark.parametrize(
    "name", ["0" * 32 + ".a.txt", "%2e%2e", "%2e%2e/%2E%2e/etc/passwd", "..%2fa", "%00", "a" * 5000, ""]
)
def test_nothing_but_translated_files_can_be_fetched(client: httpx.Client, name: str) -> None:
    assert error_of(client.get(f"/download_file/{name}"))[0] == 404


def test_when_too_much_is_kept_files_are_refused_for_a_while(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with DocumentStore(tmp_path / "small", 5000, LIFETIME_S) as store:
        monkeypatch.setattr(apis, "KNOWN", {"libretranslate": lambda premises: with_store(premises, store)})
        client = serve()

        assert send(client, "a.txt", b"Hallo").status_code == 200
        refused = send(client, "a.txt", b"Hallo")

    assert error_of(refused)[0] == 503
    assert "retry-after" in refused.headers


def test_files_may_be_larger_than_other_bodies(serve: Serve) -> None:
    client = serve(max_body_bytes=1000, max_document_bytes=3000)

    assert fetch(client, send(client, "a.txt", b"\n" * 2000)).content == b"\n" * 2000
    assert error_of(send(client, "a.txt", b"\n" * 3000))[0] == 413


def test_files_need_a_key_that_is_for_them(serve: Serve, database_url: str, make_key: MakeKey) -> None:
    client = serve(database_url=database_url, requires_key=True)
    key, other = make_key(Limits(characters_per_month=5)), make_key(scopes=frozenset({Scope.TRANSLATE}))

    assert error_of(send(client, "a.txt", b"Hallo"))[0] == 400
    assert error_of(send(client, "a.txt", b"Hallo", {**PAIR, "api_key": other}))[0] == 403
    assert error_of(send(client, "a.txt", b"Hallo!", {**PAIR, "api_key": key}))[0] == 403
    # What was translated may be fetched without one, by its address.
    assert fetch(client, send(client, "a.txt", b"Hallo", {**PAIR, "api_key": key})).content == b"Hallo|german"


def test_where_files_are_not_translated_that_is_said(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apis, "KNOWN", {"libretranslate": libretranslate_api})
    client = serve(documents="off")

    refusal = (403, "Files translation are disabled on this server.")
    assert error_of(send(client, "a.txt", b"Hallo")) == refusal
    assert error_of(client.get("/download_file/a.txt")) == refusal
    assert client.get("/frontend/settings").json()["filesTranslation"] is False
