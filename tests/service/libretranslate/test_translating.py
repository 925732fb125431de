"""`POST /translate`: what comes in, what goes out, and what is rejected in words that clients know."""

import json
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.libretranslate.responses import present_results
from service.api.libretranslate.schemas import LibreTranslateRequest
from service.http.forms import Upload, read_multipart
from service.http.request_bodies import Body
from service.translation.request import TranslationResult
from tests.engine.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import models_client
from tests.service.keys import Keys
from tests.service.libretranslate.conftest import Serve, error_of, translate

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"
ENGLISH = "This is a beautiful house on the bank of the river"


def test_a_response_to_one_text_has_only_the_requested_fields(client: httpx.Client) -> None:
    assert translate(client) == {"translatedText": "Hallo|german"}


@pytest.mark.parametrize("way", ["json", "data", "params", "files"])
def test_fields_come_in_json_in_a_form_or_in_the_url(client: httpx.Client, way: str) -> None:
    fields = {"q": "Grüße & mehr", "source": "de", "target": "en", "format": "text", "alternatives": "1"}
    sent = {name: (None, value) for name, value in fields.items()} if way == "files" else fields

    response = client.request("POST", "/translate", **{way: sent})  # type: ignore[arg-type]

    assert response.json() == {
        "translatedText": "Grüße & mehr|german",
        "alternatives": ["Grüße & mehr|german!"],
    }


def test_an_array_gives_arrays_also_of_one_or_in_a_form(client: httpx.Client) -> None:
    several = {"translatedText": ["eins|german", "zwei|german"]}
    alternatives = [["eins|german!"], ["zwei|german!"]]

    assert translate(client, q=["eins", "zwei"], alternatives=1) == several | {"alternatives": alternatives}
    assert translate(client, q=["eins"]) == {"translatedText": ["eins|german"]}
    form = {"q": ["eins", "zwei"], "source": "de", "target": "en"}
    assert client.post("/translate", data=form).json() == several


def test_line_ends_of_a_form_are_line_feeds_and_those_of_json_stay(
    client: httpx.Client, bundles: DoubleBundles
) -> None:
    fields = {"q": "eins\r\nzwei\rdrei\n", "source": "de", "target": "en"}

    client.post("/translate", data=fields)
    client.post("/translate", json=fields)

    seen = [text for text, _ in bundles.named("german").seen[-2:]]
    assert seen == ["eins\nzwei\ndrei\n", "eins\r\nzwei\rdrei\n"]


def test_line_ends_of_a_form_count_once_for_the_limit(serve: Serve) -> None:
    fields = {"q": "ab\r\nc", "source": "de", "target": "en"}
    client = serve(max_characters=4)

    assert client.post("/translate", data=fields).status_code == 200
    rejected = client.post("/translate", json=fields)
    assert error_of(rejected) == (400, "Invalid request: request (5) exceeds text limit (4)")


@pytest.mark.parametrize(
    ("source", "target", "through"),
    [
        ("DE", "PT-br", "german|wide"),
        ("DE", "pb", "german|wide"),
        ("DE", "zt", "german|wide"),
        ("DE", "ZH-Hant", "german|wide"),
        ("DE", "FR", "german|french"),
        ("zh", "en", "chinese"),
        ("zh-Hans", "en", "chinese"),
        ("ZH-hans", "en", "chinese"),
    ],
)
def test_old_and_new_language_codes_are_accepted_in_any_case(
    client: httpx.Client, source: str, target: str, through: str
) -> None:
    assert translate(client, source=source, target=target) == {"translatedText": f"Hallo|{through}"}


def test_with_source_auto_the_language_of_each_text_is_detected_and_returned(client: httpx.Client) -> None:
    answer = translate(client, q=[GERMAN, ENGLISH], source="Auto", target="fr")

    assert answer["translatedText"] == [f"{GERMAN}|german|french", f"{ENGLISH}|french"]
    assert [found["language"] for found in answer["detectedLanguage"]] == ["de", "en"]
    [german, _] = answer["detectedLanguage"]
    assert 50 < german["confidence"] <= 100


@pytest.mark.parametrize("text", ["🙂", "   ", "🙂 \n 🎉", "123"])
def test_text_without_letters_is_unchanged_and_detected_as_english(client: httpx.Client, text: str) -> None:
    assert translate(client, q=text, source="auto") == {
        "translatedText": text,
        "detectedLanguage": {"confidence": 0.0, "language": "en"},
    }


def test_text_in_the_target_language_already_stays_as_it_is(client: httpx.Client) -> None:
    answer = translate(client, q=ENGLISH, source="auto", target="en", alternatives=2)

    assert answer["translatedText"] == ENGLISH
    assert answer["alternatives"] == []
    assert answer["detectedLanguage"]["language"] == "en"


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("EN", "en-US"), ("pb", "pt-BR")])
def test_equal_source_and_target_languages_leave_texts_unchanged(
    client: httpx.Client, source: str, target: str
) -> None:
    answer = translate(client, q=["a", "b"], source=source, target=target, alternatives=1)

    assert answer == {"translatedText": ["a", "b"], "alternatives": [[], []]}


def test_a_model_of_a_language_into_itself_is_used(tmp_path: Path) -> None:
    write_bundle(tmp_path / "models" / "same", "corrector", ["en"], ["en"])

    with models_client(tmp_path / "models") as client:
        assert translate(client, source="en", target="en") == {"translatedText": "Hallo|corrector"}


def test_equal_alternatives_are_returned_once() -> None:
    answer = TranslationResult(
        "best", source="de", target="en", alternatives=("other", "best", "other", "third")
    )
    sent = LibreTranslateRequest(q="x", source="de", target="en", alternatives=4)

    assert present_results([answer], sent)["alternatives"] == ["other", "third"]


@pytest.mark.parametrize(("count", "beam_size"), [(0, None), (1, 4), (3, 4), (4, 5), (31, 32)])
def test_alternatives_come_best_first_of_a_beam_that_is_wide_enough(
    client: httpx.Client, bundles: DoubleBundles, count: int, beam_size: int | None
) -> None:
    answer = translate(client, alternatives=count)

    assert answer.get("alternatives", []) == [f"Hallo|german{'!' * rank}" for rank in range(1, count + 1)]
    options = bundles.named("german").seen[-1][1]
    assert (options.num_hypotheses, options.beam_size) == (count + 1, beam_size)


def test_html_keeps_its_markup_and_has_no_alternatives(client: httpx.Client, bundles: DoubleBundles) -> None:
    answer = translate(client, q='<p class="a">Hallo</p><p>Welt</p>', format="html", alternatives=2)

    assert answer["alternatives"] == []
    assert answer["translatedText"] == '<p class="a">Hallo|german</p><p>Welt|german</p>'
    assert {text for text, _ in bundles.named("german").seen[-2:]} == {"Hallo", "Welt"}


def test_plain_text_is_not_parsed_as_html(client: httpx.Client) -> None:
    assert translate(client, q="<p>a & b.</p>", format="text") == {"translatedText": "<p>a & b.|german</p>"}


def test_null_is_as_good_as_nothing_and_unknown_fields_are_ignored(client: httpx.Client) -> None:
    answer = translate(client, api_key=None, format=None, alternatives=None, unknown=[{}])

    assert answer == {"translatedText": "Hallo|german"}


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
        ({"format": "xml"}, "format: must be one of text, html"),
        (
            {"source": "fr", "target": "de"},
            "German (de) is not available as a target language from French (fr)",
        ),
        (
            {"source": "fr", "target": "pb"},
            "Portuguese (Brazil) (pt-BR) is not available as a target language from French (fr)",
        ),
        ({"source": "auto", "target": "de"}, "German (de) is not available as a target language"),
        ({"alternatives": "many"}, "alternatives: must be a whole number"),
        ({"alternatives": 1.5}, "alternatives: must be a whole number"),
        ({"alternatives": True}, "alternatives: must be a whole number"),
        ({"alternatives": -1}, "alternatives: must be at least 0"),
        ({"alternatives": 32}, "alternatives: must be at most 31"),
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


@pytest.mark.parametrize(
    ("kind", "content", "translated"),
    [
        ("application/problem+json", json.dumps(GOOD).encode(), "a|german"),
        (JSON, b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), "a|german"),
        (FORM, "q=ä+ö%2B&source=de&target=en".encode(), "ä ö+|german"),
    ],
    ids=["kind of JSON", "byte order mark", "raw bytes"],
)
def test_unusual_bodies_are_read(client: httpx.Client, kind: str, content: bytes, translated: str) -> None:
    assert post(client, content, kind).json() == {"translatedText": translated}


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
def test_any_form_is_answered_alike_in_a_body_and_in_the_url(
    client: httpx.Client, fields: list[tuple[str, str]]
) -> None:
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
