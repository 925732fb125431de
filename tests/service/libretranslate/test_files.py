"""`POST /translate_file` and `GET /download_file`."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from dragoman.bundle import open_bundle
from service.accounts.keys import Scope
from service.formats.registry import open_format
from tests.engine.routing.doubles import until
from tests.formats.pdf_samples import drawn
from tests.formats.rewriting import OPTIONS, texts
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys
from tests.service.libretranslate.conftest import Serve, error_of

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
        assert fetched.headers["content-type"] == "application/octet-stream"
        assert fetched.headers["x-content-type-options"] == "nosniff"
        assert fetched.headers["access-control-allow-origin"] == "*"


def test_the_language_of_a_file_is_detected_and_one_in_the_target_language_comes_back(
    client: httpx.Client,
) -> None:
    text, into_english = "Das ist ein schönes Haus am Ufer des Flusses", {"target": "EN"}
    detected = send(client, "a.txt", text.encode(), {"source": "auto", **into_english})
    assert fetch(client, detected).text == f"{text}|german"

    content = b"\xef\xbb\xbfHello\r\n"
    assert fetch(client, send(client, "a.txt", content, {"source": "en", **into_english})).content == content


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
def test_a_file_with_any_name_can_be_downloaded_under_it(client: httpx.Client, name: str, shown: str) -> None:
    sent = send(client, name, b"Hallo")

    fetched = fetch(client, sent)
    assert fetched.content == b"Hallo|german"
    assert unquote(fetched.headers["content-disposition"]) == f"attachment; filename*=UTF-8''{shown}"
    assert unquote(urlsplit(sent.json()["translatedFileUrl"]).path).endswith(f".{shown}")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.exe", b"x", "Invalid request: file format not supported"),
        ("a.docx", b"x", "Invalid request: a.docx: "),
        ("txt", b"x", "Invalid request: file format not supported"),
        ("a.txt", b"\xff\xfe\xfd", "Invalid request: a.txt: it is not in utf-16-le"),
        ("a.txt", b"unusable", "Invalid request: a.txt: line 1: is not usable"),
    ],
)
def test_an_untranslatable_file_is_rejected(
    client: httpx.Client, name: str, content: bytes, words: str
) -> None:
    status, message = error_of(send(client, name, content))

    assert status == 400
    assert message.startswith(words)


def test_a_text_that_is_not_translated_stays_and_is_reported(client: httpx.Client) -> None:
    response = send(client, "a.txt", b"gut\nunusable").json()

    assert response["message"] == "1 of 2 texts are not translated; the first: a.txt: line 2: is not usable"
    assert client.get(response["translatedFileUrl"]).content == b"gut|german\nunusable"


def test_a_form_without_a_file_or_a_required_field_is_rejected(client: httpx.Client) -> None:
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


def test_files_are_rejected_while_too_many_bytes_are_stored(serve: Serve) -> None:
    client = serve(max_jobs_bytes=20)

    assert send(client, "a.txt", b"Hallo").status_code == 200
    rejected = send(client, "a.txt", b"Hallo")

    assert error_of(rejected)[0] == 503
    assert "retry-after" in rejected.headers


def test_files_may_be_larger_than_other_bodies(serve: Serve) -> None:
    client = serve(max_body_bytes=1000, max_document_bytes=3000)

    assert fetch(client, send(client, "a.txt", b"\n" * 2000)).content == b"\n" * 2000
    assert error_of(send(client, "a.txt", b"\n" * 3000))[0] == 413


def test_files_need_a_key_that_is_for_them(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url, requires_key=True)
    key, other = keys.make(characters_per_month=5), keys.make(Scope.TRANSLATE)

    assert error_of(send(client, "a.txt", b"Hallo"))[0] == 400
    assert error_of(send(client, "a.txt", b"Hallo", {**PAIR, "api_key": other}))[0] == 403
    assert error_of(send(client, "a.txt", b"Hallo!", {**PAIR, "api_key": key}))[0] == 403
    # What was translated may be fetched without one, by its address.
    assert fetch(client, send(client, "a.txt", b"Hallo", {**PAIR, "api_key": key})).content == b"Hallo|german"


@pytest.mark.parametrize("setting", ["documents", "jobs"])
def test_a_server_that_translates_no_files_says_so(serve: Serve, setting: str) -> None:
    client = serve(**{setting: "off"})

    rejection = (403, "Files translation are disabled on this server.")
    assert error_of(send(client, "a.txt", b"Hallo")) == rejection
    assert error_of(client.get("/download_file/a.txt")) == rejection
    assert client.get("/frontend/settings").json()["filesTranslation"] is False


def test_a_pdf_becomes_a_word_document_under_such_a_name(client: httpx.Client) -> None:
    sent = send(client, "a.pdf", drawn([[(70, 700, "ein Satz.")]]))

    fetched = fetch(client, sent)
    assert sent.json()["translatedFileUrl"].endswith(".a.docx")
    assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''a.docx"
    assert texts(open_format("a.docx", OPTIONS), fetched.content) == ["ein Satz.|german"]


def test_a_pdf_between_equal_languages_stays_a_pdf(client: httpx.Client) -> None:
    content = drawn([[(70, 700, "ein Satz.")]])

    sent = send(client, "a.pdf", content, {**PAIR, "target": PAIR["source"]})

    assert sent.json()["translatedFileUrl"].endswith(".a.pdf")
    assert fetch(client, sent).content == content


def test_a_file_is_fetched_at_any_server_on_the_database(serve: Serve, keys: Keys) -> None:
    working, idle = serve(database_url=keys.url), serve(database_url=keys.url, jobs_at_a_time=0)
    sent = send(idle, "a.txt", b"Hallo")  # another works on it

    path = urlsplit(sent.json()["translatedFileUrl"]).path
    for server in (idle, working):
        assert server.get(path).content == b"Hallo|german"
    wrong = path.replace(path[len("/download_file/") + 32 :][:64], "0" * 64)
    assert error_of(working.get(wrong))[0] == 404


def test_a_file_that_fails_costs_nothing_and_is_not_kept(serve: Serve, keys: Keys, tmp_path: Path) -> None:
    client = serve(database_url=keys.url, requires_key=True)
    key = keys.make(characters_per_month=20)
    for _ in range(3):
        assert error_of(send(client, "a.txt", b"unusable\nunusable\n", {**PAIR, "api_key": key}))[0] == 400

    assert list((tmp_path / "dragoman-jobs").iterdir()) == []
    failure = error_of(send(client, "a.txt", b"explode\n", {**PAIR, "api_key": key}))
    assert failure == (500, "the server failed; its log says where")


@pytest.mark.parametrize("jobs_at_a_time", [0, 1])
def test_a_client_that_leaves_takes_its_file_with_it(
    models: Path, keys: Keys, tmp_path: Path, jobs_at_a_time: int
) -> None:
    double = DoubleTranslator(open_bundle(models / "a").manifest)
    key = keys.make()
    headers = {"Authorization": f"DeepL-Auth-Key {key}"}
    settings = {"database_url": keys.url, "requires_key": True, "jobs_at_a_time": jobs_at_a_time}
    content = b"".join(b"slow %04d\n" % number for number in range(1000))
    with router_of(double, models / "a") as router, ready_client(router, **settings) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post(
                "/translate_file",
                data={**PAIR, "api_key": key},
                files={"file": ("a.txt", content)},
                timeout=httpx.Timeout(60, read=2),
            )
        until(lambda: client.get("/v2/usage", headers=headers).json()["character_count"] == 0)
        until(lambda: not list((tmp_path / "dragoman-jobs").glob("*/*")))
