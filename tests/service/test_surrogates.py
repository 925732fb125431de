"""A lone surrogate is no text: whatever API and field it comes by, the client is told which field has it."""

import json

import httpx
import pytest

from dragoman import InputError
from service.http.errors import MAX_LISTED_PROBLEMS, ApiError
from service.http.fields import check_surrogates
from service.translation.detection import detect

JSON = {"Content-Type": "application/json"}
LONE = "a\ud800b"


@pytest.mark.parametrize(
    ("path", "body", "field", "status"),
    [
        ("/v1/translate", {"text": LONE}, "text", 422),
        ("/v1/translate", {"text": ["a", LONE], "source": "auto"}, "text[1]", 422),
        ("/v1/translate", {"text": ["a", LONE], "source": "de"}, "text[1]", 422),
        ("/v1/translate", {"text": "a", "target_prefix": LONE}, "target_prefix", 422),
        ("/v1/translate", {"text": "a", "source": LONE}, "source", 422),
        ("/v1/translate/stream", {"text": [LONE]}, "text[0]", 422),
        ("/v1/score", {"pairs": [{"source": "a", "target": LONE}]}, "pairs[0].target", 422),
        ("/v1/detect", {"text": LONE}, "text", 422),
        ("/translate", {"q": LONE, "source": "auto", "target": "en"}, "q", 400),
        ("/translate", {"q": [LONE], "source": "de", "target": "en", "format": "html"}, "q[0]", 400),
        ("/detect", {"q": LONE}, "q", 400),
        ("/v2/translate", {"text": [LONE], "target_lang": "EN", "tag_handling": "xml"}, "text[0]", 400),
        ("/v2/translate", {"text": ["a"], "target_lang": "EN", "context": LONE}, "context", 400),
        (
            "/v2/translate",
            {"text": ["a"], "target_lang": "EN", "ignore_tags": ["x", LONE]},
            "ignore_tags[1]",
            400,
        ),
        ("/v2/glossaries", {"name": LONE, "entries": "a\tb", "entries_format": "tsv"}, "name", 400),
        ("/v2/document", {"filename": LONE, "target_lang": "EN"}, "filename", 400),
    ],
)
def test_the_field_with_a_lone_surrogate_is_named(
    engine_client: httpx.Client, path: str, body: dict[str, object], field: str, status: int
) -> None:
    response = engine_client.post(path, content=json.dumps(body), headers=JSON)

    assert response.status_code == status
    assert f"{field}: lone surrogate U+D800 at character 1 (counted from 0)" in response.text


def test_the_detector_is_given_no_lone_surrogate() -> None:
    with pytest.raises(InputError, match="lone surrogate") as caught:
        detect(LONE, ["de", "en"])

    assert caught.value.field == "text"


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text": "\ud83d\ude00 \\ud800 \uD83D\uDE00"}',
        json.dumps({"text": "\ue000\ud7ff😀"}).encode(),
        '{"text": "😀"}'.encode(),
        '{"text": "😀"}'.encode("utf-16"),
        b'{"text": "\\ud800',
        b"",
        rb'{"text": ' * 50_000,
    ],
    ids=range(7),
)
def test_pairs_escapes_and_what_is_no_json_pass(body: bytes) -> None:
    check_surrogates(body)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"x": ["\ud83d", "\ude00\ud83d"]}',
        b'{"x": ["\xed\xa0\xbd", "\xed\xb8\x80"]}',
        '{"x": ["\ud83d", "\ude00"]}'.encode("utf-16-le", "surrogatepass"),
    ],
    ids=["escaped", "in UTF-8", "in UTF-16"],
)
def test_lone_surrogates_are_found_however_they_are_spelled(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        check_surrogates(body)

    assert [problem.field for problem in caught.value.fields] == ["x[0]", "x[1]"]


def test_of_many_the_first_are_listed_and_long_names_are_cut() -> None:
    with pytest.raises(ApiError) as caught:
        check_surrogates(json.dumps({"n" * 1000: [LONE] * 5000, LONE: 1}).encode())

    assert len(caught.value.fields) == MAX_LISTED_PROBLEMS
    assert caught.value.message.startswith("5001 fields")
    assert len(caught.value.fields[0].field) < 100
