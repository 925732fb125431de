"""POST /v1/translate does what it documents."""

import dataclasses

import httpx
import pytest

from dragoman.decoding.options import Sampling
from service.api.native.requests import TranslateRequest

URL = "/v1/translate"


def problem_fields(response: httpx.Response) -> list[str]:
    return [problem["field"] for problem in response.json()["error"]["fields"]]


def test_one_text_gives_one_translation(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "Guten Morgen."})

    assert response.status_code == 200
    assert response.json() == {
        "model": "tiny-de-en",
        "translations": [
            {
                "text": "GUTEN MORGEN.",
                "source": "de",
                "target": "en",
                "score": -0.5,
                "confidence": 0.75,
                "finish_reason": "stop",
            }
        ],
    }


def test_translations_stand_in_the_order_of_the_texts(client: httpx.Client) -> None:
    texts = [f"satz {number}" for number in range(50)]

    response = client.post(URL, json={"text": texts})

    assert [item["text"] for item in response.json()["translations"]] == [text.upper() for text in texts]


def test_no_texts_give_no_translations(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": []})

    assert response.status_code == 200
    assert response.json() == {"model": None, "translations": []}


def test_an_empty_text_is_a_text(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": ["", "a"]})

    assert [item["text"] for item in response.json()["translations"]] == ["", "A"]


def test_alternatives_are_the_hypotheses_after_the_best(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "ja", "num_hypotheses": 3})

    [translation] = response.json()["translations"]
    assert translation["text"] == "JA"
    assert translation["alternatives"] == [{"text": "JA!", "score": -0.5}, {"text": "JA!!", "score": -0.5}]


def test_scores_not_asked_for_are_null(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "ja", "num_hypotheses": 2, "return_scores": False})

    [translation] = response.json()["translations"]
    assert translation["score"] is None
    assert translation["alternatives"][0]["score"] is None


@pytest.mark.parametrize(
    ("source", "target"), [("de", "en"), ("DE", "En"), (None, "en"), ("de", None), ("de-AT", "en_GB")]
)
def test_the_models_own_pair_is_accepted_in_any_case_and_for_any_region(
    client: httpx.Client, source: str | None, target: str | None
) -> None:
    response = client.post(URL, json={"text": "ja", "source": source, "target": target})

    assert response.status_code == 200


@pytest.mark.parametrize(
    ("field", "language"), [("source", "fr"), ("target", "de"), ("source", ""), ("target", "english")]
)
def test_another_language_is_refused_naming_what_is_served(
    client: httpx.Client, field: str, language: str
) -> None:
    response = client.post(URL, json={"text": "ja", field: language})

    assert response.status_code == 422
    assert problem_fields(response) == [field]
    assert "de -> en" in response.json()["error"]["fields"][0]["problem"]


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
        ("text", 3),
        ("text", None),
        ("text", {"0": "a"}),
        ("beem_size", 4),
    ],
)
def test_a_field_that_cannot_be_used_is_named(client: httpx.Client, field: str, value: object) -> None:
    response = client.post(URL, json={"text": "ja", field: value})

    assert response.status_code == 422
    assert response.json()["error"]["type"] == "invalid_input"
    assert problem_fields(response) == [field]


def test_an_item_of_the_wrong_type_is_named_by_its_position(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": ["a", "b", 3]})

    assert response.status_code == 422
    assert problem_fields(response) == ["text[2]"]


def test_every_text_that_cannot_be_translated_is_named(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": ["a", "unusable", "b", "unusable"]})

    assert response.status_code == 422
    assert response.json()["error"]["fields"] == [
        {"field": "text[1]", "problem": "is not usable"},
        {"field": "text[3]", "problem": "is not usable"},
    ]


def test_a_single_text_that_cannot_be_translated_has_no_position(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "unusable"})

    assert problem_fields(response) == ["text"]


def test_more_problems_than_are_listed_are_counted(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": ["unusable"] * 250})

    error = response.json()["error"]
    assert error["message"] == "250 fields are invalid; the first 100 are listed"
    assert [problem["field"] for problem in error["fields"]] == [f"text[{item}]" for item in range(100)]


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
            at_bound = client.post(URL, json={**body, field: documented[bound]})
            past_bound = client.post(URL, json={**body, field: documented[bound] + beyond})
            assert at_bound.status_code == 200, bound
            assert problem_fields(past_bound) == [field], bound


def test_every_wish_for_the_search_reaches_the_engine() -> None:
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
        "return_alignment": True,
        "return_tokens": True,
    }

    options = TranslateRequest.model_validate({"text": "Eins.", **wishes}).options()

    assert dataclasses.asdict(options) == wishes


def test_every_wish_for_sampling_reaches_the_engine() -> None:
    wishes = {"top_k": 5, "top_p": 0.5, "temperature": 0.75, "seed": 9}

    options = TranslateRequest.model_validate({"text": "Eins.", "sampling": wishes}).options()

    assert options.sampling == Sampling(top_k=5, top_p=0.5, temperature=0.75, seed=9)
