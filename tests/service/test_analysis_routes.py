"""POST /v1/score and POST /v1/detect, and languages that nobody names."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman import Translator
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router
from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import SIZE_BYTES, ready_client

GERMAN, ENGLISH = "Das ist ein schönes Haus.", "This is a beautiful house."


@pytest.fixture(scope="module")
def detecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that detects languages, with bundles de -> en, en -> fr and one of several pairs."""
    folder = tmp_path_factory.mktemp("several")
    write_bundle(folder / "german", "german")
    write_bundle(folder / "french", "french", ["en"], ["fr"])
    bundles = DoubleBundles({"german": -0.5, "french": -0.25})
    with (
        Router(lambda: bundle_folders(folder), bundles.open, lambda _: SIZE_BYTES) as router,
        ready_client(router, detection="on") as client,
    ):
        yield client


def translate(client: httpx.Client, **body: object) -> list[dict[str, object]]:
    response = client.post("/v1/translate", json=body)
    assert response.status_code == 200, response.text
    translations: list[dict[str, object]] = response.json()["translations"]
    return translations


@pytest.mark.parametrize("source", [None, "auto", "AUTO"])
def test_each_text_of_a_mixed_list_is_translated_from_its_own_language(
    detecting: httpx.Client, source: str | None
) -> None:
    german, english = translate(detecting, text=[GERMAN, ENGLISH], source=source, target="fr")

    assert (german["source"], german["text"]) == ("de", f"{GERMAN}|german|french")
    assert (english["source"], english["text"]) == ("en", f"{ENGLISH}|french")
    for translation, language in ((german, "de"), (english, "en")):
        detected = translation["detected"]
        assert isinstance(detected, dict)
        assert detected["language"] == language
        assert 0.5 < detected["confidence"] <= 1


def test_a_text_that_is_in_the_target_language_already_is_left_as_it_is(detecting: httpx.Client) -> None:
    german, english = translate(detecting, text=[GERMAN, ENGLISH], target="en", num_hypotheses=2)

    assert german["text"] == f"{GERMAN}|german"
    assert english["text"] == ENGLISH
    assert english["finish_reason"] == "copied"
    assert english["source"] == english["target"] == "en"
    assert english["alternatives"] == []


def test_a_word_of_both_languages_is_translated(detecting: httpx.Client) -> None:
    [hand] = translate(detecting, text="Hand", target="en")

    assert (hand["source"], hand["text"]) == ("de", "Hand|german")


def test_a_text_without_letters_is_in_no_language(detecting: httpx.Client) -> None:
    [number] = translate(detecting, text="42 🙂", target="en")

    assert number["text"] == "42 🙂"
    assert number["source"] == "und"
    assert number["detected"] == {"language": "und", "confidence": 0.0}


def test_without_a_target_the_language_that_is_detected_decides_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "german", "german")
    write_bundle(tmp_path / "english", "english", ["en"], ["de"])
    bundles = DoubleBundles({"german": -0.5, "english": -0.25})
    with (
        Router(lambda: bundle_folders(tmp_path), bundles.open, lambda _: SIZE_BYTES) as router,
        ready_client(router, detection="on") as client,
    ):
        german, english, number = translate(client, text=[GERMAN, ENGLISH, "42"])
        [named] = translate(client, text=ENGLISH, target="de")

    assert (german["source"], german["target"], german["text"]) == ("de", "en", f"{GERMAN}|german")
    assert (english["source"], english["target"], english["text"]) == ("en", "de", f"{ENGLISH}|english")
    assert (number["source"], number["text"]) == ("und", "42")
    assert (named["target"], named["text"]) == ("de", f"{ENGLISH}|english")


def test_a_target_is_asked_for_where_a_language_has_several(detecting: httpx.Client) -> None:
    refused = detecting.post("/v1/translate", json={"text": GERMAN})

    assert refused.status_code == 422
    [field] = refused.json()["error"]["fields"]
    assert field["field"] == "target"
    assert "choose a language" in field["problem"]


def test_a_language_that_is_named_is_not_detected(detecting: httpx.Client) -> None:
    [translation] = translate(detecting, text=ENGLISH, source="de", target="en")

    assert translation["text"] == f"{ENGLISH}|german"
    assert "detected" not in translation


def test_a_text_in_a_language_that_is_not_served_is_named(detecting: httpx.Client) -> None:
    refused = detecting.post("/v1/translate", json={"text": [GERMAN, "Доброе утро"], "target": "fr"})

    assert refused.status_code == 422
    [field] = refused.json()["error"]["fields"]
    assert field["field"] == "text[1]"
    assert "name it as `source`" in field["problem"]


def test_languages_are_told_the_most_likely_first(detecting: httpx.Client) -> None:
    answer = detecting.post("/v1/detect", json={"text": [ENGLISH, GERMAN, "42"]}).json()

    best = [found[0]["language"] for found in answer["detections"]]
    assert best == ["en", "de", "und"]
    for found in answer["detections"]:
        confidences = [each["confidence"] for each in found]
        assert confidences == sorted(confidences, reverse=True)
        assert {each["language"] for each in found} <= {"de", "en", "fr", "und"}


def test_a_server_that_does_not_detect_says_so(client: httpx.Client) -> None:
    for path, body in (
        ("/v1/detect", {"text": "ja"}),
        ("/v1/translate", {"text": "ja", "source": "auto"}),
    ):
        refused = client.post(path, json=body)
        assert refused.status_code == 422
        assert refused.json()["error"]["fields"][0]["field"] == "source"


def test_given_translations_are_scored_token_by_token(client: httpx.Client) -> None:
    pairs = [{"source": "ein haus", "target": "a house"}, {"source": "ja", "target": "yes"}]

    answer = client.post("/v1/score", json={"pairs": pairs}).json()

    assert answer["model"] == "tiny-de-en"
    tokens = [[token["text"] for token in one["tokens"]] for one in answer["scores"]]
    assert tokens == [["a", "house"], ["yes"]]
    assert answer["scores"][0]["score"] == -1.0
    assert answer["scores"][0]["confidence"] == pytest.approx(0.3679, abs=1e-4)


def test_a_given_translation_that_cannot_be_read_is_named(engine_client: httpx.Client) -> None:
    pairs = [{"source": "ja", "target": "yes"}, {"source": "ja", "target": "word " * 3000}]

    refused = engine_client.post("/v1/score", json={"pairs": pairs})

    assert refused.status_code == 422
    assert [field["field"] for field in refused.json()["error"]["fields"]] == ["pairs[1].target"]


def test_scores_are_those_of_the_engine(engine: Translator, engine_client: httpx.Client) -> None:
    pair = {"source": "Das ist ein Haus.", "target": "This is a house."}

    [score] = engine_client.post("/v1/score", json={"pairs": [pair]}).json()["scores"]

    expected = engine.score(pair["source"], pair["target"]).result(60)
    assert score["score"] == expected.score
    logprobs = [token.logprob for token in expected.tokens or ()]
    assert [token["logprob"] for token in score["tokens"]] == logprobs
    assert len(score["alignment"]) == 5


def test_alignment_and_tokens_reach_the_client(engine_client: httpx.Client) -> None:
    [translation] = translate(
        engine_client, text="Das ist ein Haus.", return_alignment=True, return_tokens=True
    )

    text = str(translation["text"])
    assert isinstance(translation["alignment"], list)
    assert isinstance(translation["tokens"], list)
    assert "".join(text[slice(*link["target"])] for link in translation["alignment"]) == text.replace(" ", "")
    assert translation["tokens"][-1]["text"] == "</s>"
    assert all(token["logprob"] <= 0 for token in translation["tokens"])


def test_nobody_is_scored_through_a_third_language(detecting: httpx.Client) -> None:
    body = {"pairs": [{"source": "ja", "target": "oui"}], "source": "de", "target": "fr"}

    refused = detecting.post("/v1/score", json=body)

    assert refused.status_code == 422
    assert "through en" in refused.json()["error"]["message"]


def test_a_language_at_fault_is_told_apart_from_a_text(client: httpx.Client) -> None:
    refused = client.post("/v1/score", json={"pairs": [{"source": "ja", "target": "yes"}], "target": "xx"})

    assert refused.json()["error"]["fields"][0]["field"] == "target"
