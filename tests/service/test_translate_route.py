"""POST /v1/translate does what it documents."""

import dataclasses

import httpx
import pytest

from dragoman.decoding.options import Sampling
from service.api.native.requests import TranslateRequest
from tests.service.conftest import fields_of, translate

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


def test_translations_stand_in_the_order_of_the_texts(client: httpx.Client) -> None:
    texts = ["", *(f"satz {number}" for number in range(50))]

    translations = translate(client, text=texts)["translations"]

    assert [item["text"] for item in translations] == [text.upper() for text in texts]


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
    ("field", "value"),
    [
        ("beam_size", 0),
        ("beam_size", 33),
        ("num_hypotheses", 5),
        ("length_penalty", -0.1),
        ("length_penalty", 10.5),
        ("max_length", 0),
        ("min_length", -1),
        ("beam_size", True),
        ("beam_size", 4.0),
        ("beam_size", "4"),
        ("early_stopping", 1),
        ("model", 1),
        ("model", "absent"),
        ("length_penalty", True),
        ("length_penalty", "1"),
        ("return_scores", 1),
        ("use_shortlist", 0),
        ("source", 1),
        ("source", "fr"),
        ("source", ""),
        ("target", "english"),
        ("text", 3),
        ("text", None),
        ("text", {"0": "a"}),
        ("text", "unusable"),
        ("beem_size", 4),
    ],
)
def test_a_field_that_cannot_be_used_is_named(client: httpx.Client, field: str, value: object) -> None:
    response = client.post(URL, json={"text": "ja", field: value})

    assert fields_of(response) == [field]
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


def test_every_wish_for_the_search_reaches_the_engine() -> None:
    sampling = {"top_k": 5, "top_p": 0.5, "temperature": 0.75, "seed": 9}
    wishes = {
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
        "splitting": "off",
        "formality": "formal",
        "return_alignment": True,
        "return_tokens": True,
    }

    options = TranslateRequest.model_validate({"text": "Eins.", **wishes}).options()
    sampled = TranslateRequest.model_validate({"text": "Eins.", "sampling": sampling}).options()

    # Terms are chosen for each language pair, later.
    assert dataclasses.asdict(options) == {**wishes, "terminology": None}
    assert sampled.sampling == Sampling(**sampling)  # type: ignore[arg-type]
