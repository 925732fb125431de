"""POST /v1/score and POST /v1/detect, and languages that nobody names."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman import Translator
from tests.engine.routing.doubles import write_bundle
from tests.service import conftest
from tests.service.conftest import events_of, fields_of, models_client

GERMAN, ENGLISH = "Das ist ein schönes Haus.", "This is a beautiful house."
ITALIAN = "Il gatto dorme in giardino oggi."


@pytest.fixture(scope="module")
def detecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that detects languages, with bundles de -> en and en -> fr."""
    folder = tmp_path_factory.mktemp("several")
    write_bundle(folder / "german", "german")
    write_bundle(folder / "french", "french", ["en"], ["fr"])
    with models_client(folder, detection="on") as client:
        yield client


def translate(client: httpx.Client, **body: object) -> list[dict[str, Any]]:
    return list(conftest.translate(client, **body)["translations"])


@pytest.mark.parametrize("source", [None, "auto", "AUTO"])
def test_each_text_of_a_mixed_list_is_translated_from_its_own_language(
    detecting: httpx.Client, source: str | None
) -> None:
    found = translate(detecting, text=[GERMAN, ENGLISH], source=source, target="fr")

    reported = [(each["source"], each["text"], each["detected"]["language"]) for each in found]
    assert reported == [("de", f"{GERMAN}|german|french", "de"), ("en", f"{ENGLISH}|french", "en")]
    assert all(0.5 < each["detected"]["confidence"] <= 1 for each in found)


def test_a_text_that_is_in_the_target_language_already_is_left_as_it_is(detecting: httpx.Client) -> None:
    german, english = translate(detecting, text=[GERMAN, ENGLISH], target="en", num_hypotheses=2)

    assert german["text"] == f"{GERMAN}|german"
    assert (english["text"], english["finish_reason"], english["alternatives"]) == (ENGLISH, "copied", [])
    assert english["source"] == english["target"] == "en"


def test_a_word_of_both_languages_is_translated_and_a_text_without_letters_is_in_no_language(
    detecting: httpx.Client,
) -> None:
    hand, number = translate(detecting, text=["Hand", "42 🙂"], target="en")

    assert (hand["source"], hand["text"]) == ("de", "Hand|german")
    assert (number["source"], number["text"]) == ("und", "42 🙂")
    assert number["detected"] == {"language": "und", "confidence": 0.0}


def test_without_a_target_the_language_that_is_detected_decides_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "german", "german")
    write_bundle(tmp_path / "english", "english", ["en"], ["de"])
    with models_client(tmp_path, detection="on") as client:
        found = translate(client, text=[GERMAN, ENGLISH, "42"])
        found += translate(client, text=ENGLISH, target="de")

    reported = [(each["source"], each["target"], each["text"]) for each in found]
    english = ("en", "de", f"{ENGLISH}|english")
    assert reported == [("de", "en", f"{GERMAN}|german"), english, ("und", reported[2][1], "42"), english]


def test_a_target_is_requested_where_a_language_has_several(detecting: httpx.Client) -> None:
    refused = detecting.post("/v1/translate", json={"text": GERMAN})

    assert fields_of(refused) == ["target"]
    assert "choose a language" in refused.json()["error"]["fields"][0]["problem"]


def test_a_language_that_is_named_is_not_detected(detecting: httpx.Client) -> None:
    [translation] = translate(detecting, text=GERMAN, source="de", target="en")

    assert translation["text"] == f"{GERMAN}|german"
    assert "detected" not in translation


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (ITALIAN, "it")])
@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_a_text_that_is_certainly_in_another_language_than_the_named_one_has_no_confidence(
    detecting: httpx.Client, path: str, text: str, language: str
) -> None:
    response = detecting.post(path, json={"text": [text, GERMAN], "source": "de", "target": "en"})
    data = events_of(response)[-1][1] if path.endswith("stream") else response.json()
    foreign, german = data["translations"]

    assert (foreign["text"], foreign["source"]) == (f"{text}|german", "de")
    assert (foreign["confidence"], foreign["detected"]["language"]) == (0.0, language)
    assert german["confidence"] > 0
    assert "detected" not in german


@pytest.mark.parametrize("text", ["Computer", "Hello", "Paris, London, New York", "Angela Merkel"])
def test_a_short_text_is_in_the_language_that_its_caller_names(detecting: httpx.Client, text: str) -> None:
    [translation] = translate(detecting, text=text, source="de", target="en")

    assert translation["confidence"] > 0
    assert "detected" not in translation


def test_a_text_in_a_language_that_is_not_served_is_named(detecting: httpx.Client) -> None:
    refused = detecting.post("/v1/translate", json={"text": [GERMAN, "Доброе утро"], "target": "fr"})

    assert fields_of(refused) == ["text[1]"]
    assert "name it as `source`" in refused.json()["error"]["fields"][0]["problem"]


def test_languages_are_reported_the_most_likely_first(detecting: httpx.Client) -> None:
    detections = detecting.post("/v1/detect", json={"text": [ENGLISH, GERMAN, "42"]}).json()["detections"]

    assert [found[0]["language"] for found in detections] == ["en", "de", "und"]
    for found in detections:
        confidences = [each["confidence"] for each in found]
        assert confidences == sorted(confidences, reverse=True)
        assert {each["language"] for each in found} <= {"de", "en", "fr", "und"}


def test_the_faulty_field_of_a_pair_is_named(engine_client: httpx.Client) -> None:
    pairs = [{"source": "ja", "target": "yes"}, {"source": "ja", "target": "word " * 3000}]

    assert fields_of(engine_client.post("/v1/score", json={"pairs": pairs})) == ["pairs[1].target"]
    language = {"pairs": pairs[:1], "target": "xx"}
    assert fields_of(engine_client.post("/v1/score", json=language)) == ["target"]


def test_pairs_are_scored_as_the_engine_scores_them(engine: Translator, engine_client: httpx.Client) -> None:
    pairs = [("Das ist ein Haus.", "This is a house."), ("Ja.", "Yes.")]
    body = {"pairs": [{"source": source, "target": target} for source, target in pairs]}

    answer = engine_client.post("/v1/score", json=body).json()

    assert answer["model"] == engine.manifest.name
    for pair, score in zip(pairs, answer["scores"], strict=True):
        expected = engine.score(*pair).result(60)
        logprobs = [token["logprob"] for token in score["tokens"]]
        assert score["score"] == expected.score
        assert logprobs == [each.logprob for each in expected.tokens or ()]
        assert score["confidence"] == pytest.approx(math.exp(score["score"]), abs=1e-4)
    assert len(answer["scores"][0]["alignment"]) == 5


def test_alignment_and_tokens_reach_the_client(engine_client: httpx.Client) -> None:
    wanted = {"source": "de", "return_alignment": True, "return_tokens": True}
    [translation] = translate(engine_client, text="Das ist ein Haus.", **wanted)

    text, tokens = translation["text"], translation["tokens"]
    assert "".join(text[slice(*link["target"])] for link in translation["alignment"]) == text.replace(" ", "")
    assert tokens[-1]["text"] == "</s>"
    assert all(token["logprob"] <= 0 for token in tokens)


def test_a_pivot_route_does_not_score(detecting: httpx.Client) -> None:
    body = {"pairs": [{"source": "ja", "target": "oui"}], "source": "de", "target": "fr"}

    refused = detecting.post("/v1/score", json=body)

    assert refused.status_code == 422
    assert "through en" in refused.json()["error"]["message"]
