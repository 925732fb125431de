"""What goes wrong has the status and the words that clients of LibreTranslate know."""

import json
import logging
from contextlib import ExitStack
from typing import BinaryIO
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.http.forms import Upload, read_multipart
from service.http.request_bodies import Body
from tests.libretranslate.conftest import Serve, error_of, translate
from tests.service.keys import Keys

PAIR = {"source": "de", "target": "en"}
BODY = {"q": "Hallo", **PAIR}


@pytest.mark.parametrize("name", ["q", "source", "target"])
@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_a_field_that_is_missing_or_empty_is_named(client: httpx.Client, name: str, way: str) -> None:
    for fields in ({key: value for key, value in BODY.items() if key != name}, {**BODY, name: ""}):
        response = client.request("POST", "/translate", **{way: fields})  # type: ignore[arg-type]

        assert error_of(response) == (400, f"Invalid request: missing {name} parameter")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"target": "auto"}, "auto is not supported"),
        ({"source": "a-" * 10000}, f"{'a-' * 40}… is not supported"),
        ({"source": "auto", "target": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        (
            {"source": "fr", "target": "de"},
            "German (de) is not available as a target language from French (fr)",
        ),
        (
            {"source": "fr", "target": "pb"},
            "Portuguese (Brazil) (pt-BR) is not available as a target language from French (fr)",
        ),
        ({"source": "auto", "target": "de"}, "German (de) is not available as a target language"),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": -1}, "Invalid request: alternatives parameter must be >= 0"),
        ({"alternatives": 32}, "Invalid request: alternatives parameter must be <= 31"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": 1}, "q: must be a string or an array of strings"),
        ({"q": ["a", {}]}, "q[1]: must be a string"),
        ({"target": ["en"]}, "target: must be a string"),
        ({"api_key": 5}, "api_key: must be a string"),
        ({"q": "unusable"}, "q: is not usable"),
        ({"q": ["a", "unusable"]}, "q[1]: is not usable"),
        (
            {"q": ["unusable", "a", "unusable too"]},
            "2 fields are invalid: q[0]: is not usable; q[2]: is not usable",
        ),
    ],
)
def test_unusable_fields_are_reported(client: httpx.Client, fields: dict[str, object], message: str) -> None:
    assert error_of(client.post("/translate", json=BODY | fields)) == (400, message)


def test_a_request_over_the_limit_of_characters_names_both(serve: Serve) -> None:
    client = serve(max_characters=100, max_texts=3)

    assert translate(client, q=["a" * 60, "b" * 40])
    for text in ("a" * 120, ["a" * 60, "b" * 60]):
        rejected = client.post("/translate", json={**BODY, "q": text})
        assert error_of(rejected) == (400, "Invalid request: request (120) exceeds text limit (100)")
    assert client.get("/frontend/settings").json()["charLimit"] == 100
    many = client.post("/translate", json={**BODY, "q": ["a"] * 4})
    assert error_of(many) == (400, "Invalid request: request (4) exceeds text limit (3)")


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest"])
def test_a_key_must_be_one_where_one_is_required(serve: Serve, keys: Keys, path: str) -> None:
    client = serve(database_url=keys.url, requires_key=True, detection="on")
    missing = (400, "Please contact the server operator to get an API key")

    for fields, expected in (
        (BODY, missing),
        ({**BODY, "api_key": ""}, missing),
        ({**BODY, "api_key": "nonsense"}, (403, "Invalid API key")),
    ):
        assert error_of(client.post(path, data=fields)) == expected
    assert client.post(path, data={**BODY, "api_key": keys.make()}).status_code == (
        403 if path == "/suggest" else 200
    )


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
GOOD = {"q": "a", "source": "de", "target": "en"}

names = st.sampled_from(["q", "source", "target", "format", "alternatives", "api_key"]) | st.text(max_size=3)


def post(client: httpx.Client, content: bytes, kind: str, path: str = "/translate") -> httpx.Response:
    return client.post(path, content=content, headers={"Content-Type": kind})


def part(name: str, value: bytes, more: str = "") -> bytes:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


def test_a_kind_of_json_is_read_as_json(client: httpx.Client) -> None:
    answered = post(client, json.dumps(GOOD).encode(), "application/problem+json")

    assert answered.json() == {"translatedText": "a|german"}


def test_a_byte_order_mark_before_json_is_no_matter(client: httpx.Client) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(GOOD).encode()

    assert post(client, content, JSON).status_code == 200


def test_raw_bytes_in_a_form_are_utf_8(client: httpx.Client) -> None:
    answered = post(client, "q=ä+ö%2B&source=de&target=en".encode(), FORM)

    assert answered.json() == {"translatedText": "ä ö+|german"}


@pytest.mark.parametrize("name", ["source", "target", "format", "alternatives", "api_key"])
def test_a_repeated_field_with_one_value_is_rejected(client: httpx.Client, name: str) -> None:
    fields = {"format": "text", "alternatives": "1", "api_key": "x", **GOOD}
    repeated = [*fields.items(), (name, fields[name])]
    content = urlencode(repeated)

    assert error_of(post(client, content.encode(), FORM))[0] == 400
    assert error_of(client.post("/translate?" + content))[0] == 400


@pytest.mark.parametrize("way", ["json", "data"])
def test_a_field_in_both_url_and_body_is_rejected(client: httpx.Client, way: str) -> None:
    answered = client.request("POST", "/translate?source=fr", **{way: GOOD})  # type: ignore[arg-type]

    status, message = error_of(answered)
    assert status == 400
    assert "'source'" in message


def test_a_url_that_is_not_utf_8_is_rejected(client: httpx.Client) -> None:
    assert error_of(client.post("/translate?q=%ff"))[0] == 400


def test_a_file_instead_of_a_text_is_rejected_and_a_text_instead_of_a_file(client: httpx.Client) -> None:
    file = {"q": ("a.txt", b"a")}
    texts = {"source": "de", "target": "en"}

    assert error_of(client.post("/translate", data=texts, files=file))[0] == 400
    twice = [("file", ("a.txt", b"a")), ("file", ("b.txt", b"a"))]
    assert error_of(client.post("/translate_file", data=texts, files=twice))[0] == 400
    both = client.post("/translate_file", data=texts | {"file": "x"}, files={"file": ("a.txt", b"a")})
    assert error_of(both)[0] == 400
    unnamed = part("file", b"a", '; filename=""')
    pair = b"".join(part(name, value.encode()) for name, value in texts.items())
    rejected = post(client, unnamed + pair + b"--b--\r\n", MULTIPART, "/translate_file")
    assert error_of(rejected) == (400, "Invalid request: empty file")


def test_nothing_that_was_sent_is_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        post(client, part("geheim", b"geheim", "; x=geheim")[:-9], MULTIPART)
        post(client, b'{"geheim": geheim', JSON)

    assert "geheim" not in "".join(record.getMessage() for record in caplog.records if record.name != "httpx")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=st.lists(st.tuples(names, st.text(st.characters(exclude_categories=["Cs"]))), max_size=8))
def test_a_form_may_be_in_the_body_or_the_url(client: httpx.Client, fields: list[tuple[str, str]]) -> None:
    encoded = urlencode(fields)

    in_body = post(client, encoded.encode(), FORM)
    in_url = client.post("/translate?" + encoded)

    assert in_body.status_code in {200, 400}, in_body.text
    assert (in_url.status_code, in_url.json()) == (in_body.status_code, in_body.json())


@given(
    values=st.dictionaries(st.text("abcq", min_size=1), st.text(), max_size=5),
    contents=st.dictionaries(st.text("xyz", min_size=1), st.binary(), max_size=3),
)
def test_a_form_in_parts_is_read_as_it_was_sent(values: dict[str, str], contents: dict[str, bytes]) -> None:
    parts: list[tuple[str, tuple[str | None, bytes]]] = [
        (name, (None, value.encode())) for name, value in values.items()
    ]
    parts += [(name, ("ä.txt", content)) for name, content in contents.items()]
    if not parts:
        return
    request = httpx.Request("POST", "http://test", files=parts)

    with ExitStack() as opened:
        files: list[BinaryIO] = []
        opened.callback(lambda: [file.close() for file in files])
        form = read_multipart(request.headers["content-type"], Body(request.read()), files)

        assert form.strings == {name: [value] for name, value in values.items()}
        assert {name: [(one.name, read(one)) for one in each] for name, each in form.uploads.items()} == {
            name: [("ä.txt", content)] for name, content in contents.items()
        }


def read(upload: Upload) -> bytes:
    upload.file.seek(0)
    return upload.file.read()
