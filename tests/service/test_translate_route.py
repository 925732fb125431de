"""POST /v1/translate and /v1/translate/stream do what they document, also with placeholders."""

import dataclasses
import json
from typing import Any

import httpx
import pytest

from dragoman.decoding.options import Sampling
from service.api.native.requests import TranslateRequest
from tests.engine.routing.doubles import until
from tests.service.conftest import Serve, events_of, fields_of, translate
from tests.service.doubles import DoubleTranslator

URL = "/v1/translate"


def test_one_text_gives_one_translation(client: httpx.Client) -> None:
    assert translate(client, text="Guten Morgen.") == {
        "model": "tiny-de-en",
        "translations": [
            {
                "text": "GUTEN MORGEN.",
                "source": "de",
                "target": "en",
                "score": -0.5,
                "confidence": 0.5,
                "finish_reason": "stop",
            }
        ],
    }


def test_alternatives_are_the_hypotheses_after_the_best(client: httpx.Client) -> None:
    [translation] = translate(client, text="ja", num_hypotheses=3)["translations"]

    assert translation["text"] == "JA"
    assert translation["alternatives"] == [{"text": "JA!", "score": -1.5}, {"text": "JA!!", "score": -2.5}]
    [unscored] = translate(client, text="ja", num_hypotheses=2, return_scores=False)["translations"]
    assert (unscored["score"], unscored["alternatives"][0]["score"]) == (None, None)


@pytest.mark.parametrize(
    ("source", "target"), [("de", "en"), ("DE", "En"), (None, "en"), ("de", None), ("de-AT", "en_GB")]
)
def test_the_models_own_pair_is_accepted_in_any_case_and_for_any_region(
    client: httpx.Client, source: str | None, target: str | None
) -> None:
    assert translate(client, text="ja", source=source, target=target)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("num_hypotheses", [5]),
        ("beam_size", [True, 4.0, "4"]),
        ("early_stopping", [1]),
        ("model", [1, "absent"]),
        ("length_penalty", ["1"]),
        ("source", [1]),
        ("target", ["english"]),
        ("text", [3, None, {"0": "a"}, "unusable"]),
        ("beem_size", [4]),
    ],
)
def test_a_field_that_cannot_be_used_is_named(client: httpx.Client, field: str, values: list[object]) -> None:
    for value in values:
        response = client.post(URL, json={"text": "ja", field: value})
        assert fields_of(response) == [field], value
        assert response.json()["error"]["type"] == "invalid_input"


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (["a", "b", 3], ["text[2]"]),
        (["a", "unusable", "b", "unusable"], ["text[1]", "text[3]"]),
        (["unusable"] * 250, [f"text[{item}]" for item in range(100)]),
    ],
)
def test_every_text_that_cannot_be_translated_is_named(
    client: httpx.Client, texts: list[object], fields: list[str]
) -> None:
    response = client.post(URL, json={"text": texts})

    assert fields_of(response) == fields
    if len(texts) > 100:
        assert response.json()["error"]["message"] == "250 fields are invalid; the first 100 are listed"


@pytest.mark.parametrize(
    "field", ["beam_size", "num_hypotheses", "length_penalty", "max_length", "min_length"]
)
def test_documented_ranges_are_the_engines(client: httpx.Client, field: str) -> None:
    """The schema only documents them, so they must not drift from what is checked."""
    documented = TranslateRequest.model_json_schema()["properties"][field]
    # Room for num_hypotheses, which beam_size bounds as well.
    body = {"text": "ja", "beam_size": 32}

    for bound, beyond in (("minimum", -1), ("maximum", 1)):
        if bound in documented:
            assert translate(client, **{**body, field: documented[bound]}), bound
            past_bound = client.post(URL, json={**body, field: documented[bound] + beyond})
            assert fields_of(past_bound) == [field], bound


@pytest.mark.parametrize("field", ["beam_size", "length_penalty", "early_stopping"])
def test_a_model_decides_itself_where_null_is_sent(client: httpx.Client, field: str) -> None:
    assert translate(client, **{field: None})


def test_every_search_option_reaches_the_engine() -> None:
    sampling = {"top_k": 5, "top_p": 0.5, "temperature": 0.75, "seed": 9}
    search_options = {
        "beam_size": 7,
        "num_hypotheses": 3,
        "length_penalty": 0.25,
        "early_stopping": True,
        "max_length": 19,
        "min_length": 2,
        "return_scores": False,
        "use_shortlist": False,
        "repetition_penalty": 1.25,
        "no_repeat_ngram_size": 4,
        "sampling": None,
        "target_prefix": "One",
        "context": "Null.",
        "splitting": "off",
        "formality": "formal",
        "return_alignment": True,
        "return_tokens": True,
    }

    options = TranslateRequest.model_validate({"text": "Eins.", **search_options}).options()
    sampled = TranslateRequest.model_validate({"text": "Eins.", "sampling": sampling}).options()

    # Terms are chosen for each language pair, later.
    assert dataclasses.asdict(options) == {**search_options, "terminology": None}
    assert sampled.sampling == Sampling(**sampling)  # type: ignore[arg-type]


STREAM_URL = "/v1/translate/stream"


def stream(client: httpx.Client, **body: object) -> list[tuple[str, Any]]:
    response = client.post(STREAM_URL, json=body)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    return events_of(response)


def test_segments_come_in_order_and_the_whole_comes_last(client: httpx.Client) -> None:
    *segments, (name, done) = stream(client, text=["eins\nzwei", "drei"])

    assert {event for event, _ in segments} == {"segment"}
    of_item = {item: [data for _, data in segments if data["item"] == item] for item in (0, 1)}
    assert [(data["number"], data["source"], data["text"]) for data in of_item[0]] == [
        (0, "eins", "EINS"),
        (1, "zwei", "ZWEI"),
    ]
    assert of_item[0][1]["source_span"] == [5, 9]
    assert of_item[0][1]["span"] == [5, 9]
    assert [data["text"] for data in of_item[1]] == ["DREI"]
    assert name == "done"
    assert done == client.post("/v1/translate", json={"text": ["eins\nzwei", "drei"]}).json()


def test_tokens_are_reported_where_they_are_requested(client: httpx.Client) -> None:
    events = stream(client, text="ein haus", beam_size=1, stream_tokens=True)

    assert [(name, data.get("text")) for name, data in events[:-1]] == [
        ("tokens", "EIN"),
        ("tokens", "EIN HAUS"),
        ("segment", "EIN HAUS"),
    ]


def test_a_segment_is_sent_before_the_rest_is_done(serve: Serve, translator: DoubleTranslator) -> None:
    client = serve()

    with client.stream("POST", STREAM_URL, json={"text": ["ja", "wait"]}) as response:
        lines = response.iter_lines()
        assert next(lines) == "event: segment"
        assert json.loads(next(lines).removeprefix("data: "))["text"] == "JA"
        until(translator.is_waiting.is_set)
        translator.released.set()
        assert "event: done" in list(lines)


def test_an_error_before_the_first_event_has_an_http_status(client: httpx.Client) -> None:
    refused = client.post(STREAM_URL, json={"text": ["unusable", "unusable"]})

    assert refused.status_code == 422
    assert [field["field"] for field in refused.json()["error"]["fields"]] == ["text[0]", "text[1]"]
    assert client.post(STREAM_URL, json={"text": "ja", "target": "xx"}).status_code == 422
    assert client.post(STREAM_URL, json={"text": "full"}).status_code == 429


@pytest.mark.parametrize(("text", "kind"), [("late", "timeout"), ("explode", "internal")])
def test_a_later_failure_is_the_last_event(serve: Serve, text: str, kind: str) -> None:
    client = serve()

    events = stream(client, text=["ja", f"slow {text}"])

    assert [name for name, _ in events] == ["segment", "error"]
    assert events[-1][1]["error"]["type"] == kind
    assert text not in events[-1][1]["error"]["message"] or kind == "timeout"


TEXT = "Hallo {name}, siehe https://a.example/b oder <b>hier</b>: %s"
KEPT = "HALLO {name}, SIEHE https://a.example/b ODER <b>HIER</b>: %s"
MESSAGE = "{n, plural, one {# Datei} other {# Dateien}}"


def test_the_native_api_keeps_placeholders_unless_they_are_off(client: httpx.Client) -> None:
    kept, message = translate(client, text=[TEXT, MESSAGE], source="de")["translations"]
    [changed] = translate(client, text=TEXT, source="de", placeholders="off")["translations"]

    assert kept["text"] == KEPT
    assert "failed_checks" not in kept
    assert message["text"] == "{n, plural, one {# DATEI} other {# DATEIEN}}"
    assert changed["text"] == TEXT.upper()


def test_all_fields_are_there_for_texts_with_placeholders(client: httpx.Client) -> None:
    options = {"num_hypotheses": 2, "return_alignment": True, "return_tokens": True, "source": "de"}

    for text in (TEXT, MESSAGE, "{a} {b}"):
        [translation] = translate(client, text=text, **options)["translations"]

        assert {"alternatives", "alignment", "tokens", "score", "finish_reason"} <= translation.keys()


def test_a_failed_check_is_in_the_response(client: httpx.Client) -> None:
    broken = "{n, plural, one {# Datei}"

    [translation] = translate(client, text=broken, source="de")["translations"]

    assert translation["text"] == broken
    [failed] = translation["failed_checks"]
    assert failed["check"] == "icu"
    assert "closing brace" in failed["problem"]


def test_a_stream_has_the_segments_of_a_text_with_placeholders_once_it_is_done(client: httpx.Client) -> None:
    request = {"text": ["Guten Tag.", TEXT], "source": "de"}

    *segments, (_, done) = stream(client, **request)

    assert [(one["item"], one["text"]) for _, one in segments] == [(0, "GUTEN TAG."), (1, KEPT)]
    assert done["translations"][1]["text"] == KEPT
