"""`POST /translate`: what comes in, what goes out."""

from pathlib import Path

import httpx
import pytest

from service.api.libretranslate.requests import LanguagePair, LibreTranslateParameters
from service.api.libretranslate.responses import present_results
from service.translation.request import TranslationResult
from tests.libretranslate.conftest import Serve, error_of, translate
from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import models_client

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


def test_line_ends_of_a_form_become_line_feeds(client: httpx.Client, bundles: DoubleBundles) -> None:
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
    ("requested", "taken"),
    [
        ("PT-br", "german|wide"),
        ("pb", "german|wide"),
        ("zt", "german|wide"),
        ("ZH-Hant", "german|wide"),
        ("FR", "german|french"),
    ],
)
def test_language_codes_are_accepted_in_any_case(client: httpx.Client, requested: str, taken: str) -> None:
    assert translate(client, source="DE", target=requested) == {"translatedText": f"Hallo|{taken}"}


@pytest.mark.parametrize("requested", ["zh", "zh-Hans", "ZH-hans"])
def test_a_model_with_an_old_code_is_found_by_the_new_one(client: httpx.Client, requested: str) -> None:
    assert translate(client, source=requested) == {"translatedText": "Hallo|chinese"}


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
def test_between_equal_languages_texts_stay_unchanged(client: httpx.Client, source: str, target: str) -> None:
    answer = translate(client, q=["a", "b"], source=source, target=target, alternatives=1)

    assert answer == {"translatedText": ["a", "b"], "alternatives": [[], []]}


def test_a_model_of_a_language_into_itself_is_used(tmp_path: Path) -> None:
    write_bundle(tmp_path / "models" / "same", "corrector", ["en"], ["en"])

    with models_client(tmp_path / "models") as client:
        assert translate(client, source="en", target="en") == {"translatedText": "Hallo|corrector"}


def test_equal_alternatives_are_returned_once() -> None:
    answer = TranslationResult("best", "de", "en", None, None, (), ("other", "best", "other", "third"))
    job_request = LibreTranslateParameters(("x",), False, LanguagePair("de", "en", is_copied=False), False, 4)  # noqa: FBT003 -- a record

    assert present_results([answer], job_request)["alternatives"] == ["other", "third"]


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


def test_the_real_engine_finds_alternatives_of_the_same_best_translation(engine_client: httpx.Client) -> None:
    text = "Ein Hund rennt."
    plain = translate(engine_client, q=text)["translatedText"]

    answer = translate(engine_client, q=[text, text], alternatives=3)

    assert answer["translatedText"] == [plain, plain]
    for alternatives in answer["alternatives"]:
        assert alternatives
        assert plain not in alternatives
        assert len(alternatives) == len(set(alternatives)) <= 3
