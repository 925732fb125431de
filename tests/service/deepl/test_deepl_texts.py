"""Texts through DeepL's own client, as others send them, and asked for again."""

from threading import Event
from typing import Any

import deepl
import httpx
import pytest

from dragoman.types import Splitting
from service.api.deepl import translation
from service.api.deepl.responses import FORMALITY_NOT_SUPPORTED
from tests.engine.routing.doubles import until
from tests.service.deepl.conftest import auth_of, error_of, translate
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

GERMAN = "Das Wetter ist heute sehr schön, und wir gehen in den Garten."
ENGLISH = "The weather is very nice today and we are going to the garden."

Auth = dict[str, str]


@pytest.fixture(autouse=True)
def forgetful(double: DoubleTranslator) -> None:
    double.seen.clear()


def test_a_translation_has_its_detected_language_and_billed_characters(client: deepl.DeepLClient) -> None:
    result = client.translate_text("Größe?", target_lang="EN-GB")
    assert isinstance(result, deepl.TextResult)
    assert (result.text, result.detected_source_lang, result.billed_characters) == ("GRÖSSE?", "DE", 6)


@pytest.mark.parametrize("target", ["EN", "en", "EN-GB", "en-us", "En-Gb"])
def test_targets_are_known_in_any_case_and_of_any_region(http: httpx.Client, auth: Auth, target: str) -> None:
    assert translate(http, auth, target_lang=target)["text"] == "HALLO"


@pytest.mark.parametrize("target", ["PT", "pt", "PT-BR", "pt-br"])
def test_a_region_that_a_model_has_is_found_without_it(many: httpx.Client, target: str) -> None:
    assert translate(many, text=[ENGLISH], target_lang=target)["text"] == f"{ENGLISH}|wide"


def test_a_regional_variant_that_no_model_has_is_rejected(many: httpx.Client) -> None:
    response = many.post("/v2/translate", json={"text": ["Hi"], "target_lang": "PT-PT"})
    status, message = error_of(response)
    assert status == 400
    assert message == "Value for 'target_lang' not supported."


@pytest.mark.parametrize(
    ("text", "target", "language"),
    [(GERMAN, "EN-GB", "DE"), (ENGLISH, "FR", "EN"), (ENGLISH, "EN-GB", "EN"), ("12 + 3", "PT-BR", "PT")],
)
def test_the_language_is_reported_in_upper_case_for_every_text(
    many: httpx.Client, text: str, target: str, language: str
) -> None:
    assert translate(many, text=[text], target_lang=target)["detected_source_language"] == language


@pytest.mark.parametrize(
    ("requested", "used", "beam_size"),
    [
        ("quality_optimized", "quality_optimized", None),
        ("prefer_quality_optimized", "quality_optimized", None),
        ("latency_optimized", "latency_optimized", 1),
    ],
)
def test_the_type_of_model_is_how_wide_the_search_is(
    http: httpx.Client, auth: Auth, double: DoubleTranslator, requested: str, used: str, beam_size: int | None
) -> None:
    assert translate(http, auth, model_type=requested)["model_type_used"] == used
    assert double.seen[-1][1].beam_size == beam_size
    # Nothing that is not asked for.
    assert translate(http, auth).keys() == {"detected_source_language", "text"}


@pytest.mark.parametrize(
    ("fields", "splitting"),
    [
        ({}, "sentences"),
        ({"split_sentences": "1"}, "sentences"),
        ({"split_sentences": "0"}, "off"),
        ({"split_sentences": "nonewlines"}, "no_newlines"),
        ({"tag_handling": "html"}, "no_newlines"),
        ({"tag_handling": "html", "split_sentences": "1"}, "sentences"),
        ({"tag_handling": "xml"}, "sentences"),
    ],
)
def test_sentences_are_split_by_the_requested_mode(
    http: httpx.Client, auth: Auth, double: DoubleTranslator, fields: dict[str, str], splitting: str
) -> None:
    translate(http, auth, **fields)
    assert double.seen[-1][1].splitting is Splitting(splitting)


def test_tags_are_handled_as_the_client_asks(client: deepl.DeepLClient) -> None:
    result = client.translate_text(
        "<p>Ein Hund.</p><code>var x</code><y>Ein <z>Hund</z></y>",
        target_lang="EN-GB",
        tag_handling="xml",
        ignore_tags=["code", "w"],
        splitting_tags="p,y",
        non_splitting_tags=["z"],
        outline_detection=False,
    )
    assert isinstance(result, deepl.TextResult)
    assert result.text == "<p>EIN HUND.</p><code>var x</code><y>EIN <z>HUND</z></y>"


def test_html_is_handled(http: httpx.Client, auth: Auth) -> None:
    answer = translate(http, auth, text=["<p>Ein <b>Hund &amp; Katze</b><br>"], tag_handling="html")
    assert (answer["text"], answer["tag_handling_version"]) == ("<p>EIN <b>HUND &amp; KATZE</b><br>", "v1")
    answer = translate(http, auth, tag_handling="html", tag_handling_version="v2")
    assert answer["tag_handling_version"] == "v2"


def test_xml_that_is_not_well_formed_is_rejected_by_its_text(http: httpx.Client, auth: Auth) -> None:
    wanted = {"text": ["<a>", "gut", "</b>"], "target_lang": "EN", "tag_handling": "xml"}
    response = http.post("/v2/translate", json=wanted, headers=auth)
    assert error_of(response)[0] == 400
    assert all(name in response.json()["detail"] for name in ("text[0]: ", "text[2]: "))


@pytest.mark.parametrize(
    "options",
    [
        {"formality": "default"},
        {"formality": "prefer_more"},
        {"formality": "prefer_less"},
        {"context": "Ein Gruß.", "preserve_formatting": True},
        {"extra_body_parameters": {"of_tomorrow": {"a": [1]}}},
    ],
)
def test_options_without_effect_change_nothing(
    client: deepl.DeepLClient, double: DoubleTranslator, options: dict[str, Any]
) -> None:
    assert str(client.translate_text("Hallo", target_lang="EN-GB", **options)) == "HALLO"
    assert [text for text, _ in double.seen] == ["Hallo"]


@pytest.mark.parametrize("formality", ["more", "less"])
def test_a_formality_that_no_model_has_is_rejected(client: deepl.DeepLClient, formality: str) -> None:
    with pytest.raises(deepl.DeepLException, match=f"{FORMALITY_NOT_SUPPORTED}.* prefer_{formality}"):
        client.translate_text("Hallo", target_lang="EN-GB", formality=formality)


@pytest.mark.parametrize(("field", "value"), [("style_id", "x"), ("custom_instructions", ["Be brief."])])
def test_unsupported_options_that_would_change_a_translation_are_rejected(
    http: httpx.Client, auth: Auth, double: DoubleTranslator, field: str, value: object
) -> None:
    wanted = {"text": ["Hallo"], "target_lang": "EN"}
    status, message = error_of(http.post("/v2/translate", json={**wanted, field: value}, headers=auth))
    assert status == 400
    assert message.startswith(f"{field}: ")
    assert double.seen == []
    nothings: list[object] = [None, [], ""]
    for nothing in nothings:
        assert translate(http, auth, **{field: nothing})["text"] == "HALLO"


def test_a_form_has_repeated_texts_and_lists_with_commas(http: httpx.Client, auth: Auth) -> None:
    form = {
        "text": ["Ein <x>Hund</x>", "Zwei"],
        "target_lang": "EN-US",
        "source_lang": "DE",
        "tag_handling": "xml",
        "ignore_tags": "w, x",
        "outline_detection": "0",
        "show_billed_characters": "1",
    }
    response = http.post("/v2/translate", data=form, headers=auth)
    translations: list[dict[str, Any]] = response.json()["translations"]
    assert [(each["text"], each["billed_characters"]) for each in translations] == [
        ("EIN <x>Hund</x>", 15),
        ("ZWEI", 4),
    ]


def test_a_url_will_do_and_may_have_the_key(http: httpx.Client, key: str) -> None:
    fields = {"text": ["Hallo", "Welt"], "target_lang": "EN", "auth_key": key}
    response = http.get("/v2/translate", params=fields)
    assert [each["text"] for each in response.json()["translations"]] == ["HALLO", "WELT"]


def test_languages_are_what_is_served(many: httpx.Client) -> None:
    listed = many.get("/v2/languages", params={"type": "target"}).json()
    assert listed[-1] == {"language": "ZH-HANT", "name": "Chinese (Traditional)", "supports_formality": False}
    assert [each["language"] for each in listed] == ["EN-GB", "EN-US", "FR", "PT-BR", "ZH-HANT"]
    sources = many.get("/v2/languages").json()
    assert [each["language"] for each in sources] == ["DE", "EN", "PT"]
    assert all("supports_formality" not in each for each in sources)


GIVES_UP_AFTER_S = 0.2
TEXT = "wait for me"


def ask(http: httpx.Client, key: str, timeout_s: float) -> httpx.Response:
    headers = auth_of(key)
    wanted = {"text": [TEXT], "target_lang": "EN-GB", "show_billed_characters": True}
    # A client of its own, so that it closes its connection when it gives up.
    return httpx.post(f"{http.base_url}/v2/translate", json=wanted, headers=headers, timeout=timeout_s)


def seen(double: DoubleTranslator) -> list[str]:
    return [text for text, _ in double.seen]


def test_any_client_may_leave_and_come_again(
    http: httpx.Client, keys: Keys, double: DoubleTranslator, released: Event
) -> None:
    key = keys.make()
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            ask(http, key, GIVES_UP_AFTER_S)
    released.set()
    answer = ask(http, key, 60)
    assert answer.json()["translations"][0]["text"] == TEXT.upper()
    assert seen(double) == [TEXT]
    assert double.cancelled == []
    usage = keys.usage(key)
    assert (usage.characters, usage.requests) == (len(TEXT), 1)


def test_another_key_asks_for_itself(http: httpx.Client, keys: Keys, released: Event) -> None:
    one, another = keys.make(), keys.make()
    with pytest.raises(httpx.ReadTimeout):
        ask(http, one, GIVES_UP_AFTER_S)
    released.set()
    assert ask(http, another, 60).status_code == 200
    assert keys.usage(another).characters == len(TEXT)


def test_an_abandoned_request_is_not_charged(
    http: httpx.Client, keys: Keys, double: DoubleTranslator, released: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "LINGER_S", 0.1)
    key = keys.make()
    with pytest.raises(httpx.ReadTimeout):
        ask(http, key, GIVES_UP_AFTER_S)
    until(lambda: double.cancelled == [TEXT])
    until(lambda: keys.usage(key).characters == 0)
    assert not released.is_set()


RETRIES = 5
"""By default; other tests set it to none."""


def test_the_work_outlives_the_longest_pause_of_deepls_client() -> None:
    backoff = deepl.http_client._BackoffTimer
    longest_s = backoff.BACKOFF_INITIAL * backoff.BACKOFF_MULTIPLIER**RETRIES
    assert longest_s * (1 + backoff.BACKOFF_JITTER) < translation.LINGER_S
