"""The languages of a chat: of the model's name, and those that system messages name."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.routing.routes import Routes
from service.api.libretranslate.languages import catalogue
from service.api.openai.language_names import LanguageNames
from service.api.openai.languages import (
    ChatLanguages,
    languages_of_model,
    languages_of_text,
)
from service.http.errors import ApiError
from tests.openai_chat.conftest import PATH, body, error_of
from tests.routing.doubles import offer

CATALOGUE = catalogue(
    Routes([offer("a", "de fr", "en"), offer("b", "en", "de fr it pt-BR zh-Hans zh-Hant no")])
)
NAMES = LanguageNames(CATALOGUE)


def of_text(text: str) -> ChatLanguages:
    return languages_of_text(text, CATALOGUE, NAMES)


@pytest.mark.parametrize(
    ("text", "target", "source"),
    [
        ("German", "de", None),
        ("Deutsch", "de", None),
        ("translate INTO GERMAN, and nothing else", "de", None),
        ("Translate the following text from English into German:", "de", "en"),
        ("You are an English-to-German translator.", "de", "en"),
        ("English → **French**", "fr", "en"),
        ("Translate into natural, fluent French.", "fr", None),
        ("Translate to the German language", "de", None),
        ("Translate to français", "fr", None),
        ("Translate to `de`.", "de", None),
        ("target: it", "it", None),
        ("source language: English\ntarget language = Italian", "it", "en"),
        ("The target language is Italian.", "it", None),
        ("source_lang: en, target_lang: zh-TW", "zh-Hant", "en"),
        ("Translate into Simplified Chinese.", "zh-Hans", None),
        ("Translate into Brazilian Portuguese.", "pt-BR", None),
        ("Translate into 繁體中文", "zh-Hant", None),
        ("You are a French native translator who translates text into French.", "fr", None),
        ("You need to translate English text into German. Keep close to it.", "de", None),
        ("Translate to German. Translate all to German.", "de", None),
    ],
)
def test_the_convention_names_languages(text: str, target: str, source: str | None) -> None:
    assert of_text(text) == ChatLanguages(target, source)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You are a helpful assistant.",
        "You are a German translator.",
        "Answer in German.",
        "Listen to it. Say no to no one. Go to the man.",
        "Stick to de-escalation.",
        "Translate to {{language}}.",
        "Germany",
        "Translate to Germany",
    ],
)
def test_other_words_name_none(text: str) -> None:
    assert of_text(text) == ChatLanguages()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("Translate into German. Then translate into French.", "ambiguous_language", "several target"),
        ("English to German, or German to English", "ambiguous_language", "several target"),
        ("From German or from English into Italian", "ambiguous_language", "several source"),
        ("Translate into Japanese.", "unsupported_language", "names ja as the target"),
        ("Translate from Italian into English.", "unsupported_language", "names it as the source"),
        ("No language at all", "missing_language", "the target language is missing"),
    ],
)
def test_missing_and_ambiguous_options_are_reported(
    http: httpx.Client, text: str, code: str, words: str
) -> None:
    status, found_code, parameter, message = error_of(
        http.post(PATH, json=body(model="dragoman", system=text))
    )

    assert (status, found_code, parameter) == (400, code, "messages")
    assert words in message


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("dragoman", ChatLanguages()),
        ("dragoman-auto", ChatLanguages()),
        ("Dragoman-DE", ChatLanguages("de")),
        ("auto-de", ChatLanguages("de")),
        ("dragoman-en-de", ChatLanguages("de", "en")),
        ("dragoman-en-pt-BR", ChatLanguages("pt-BR", "en")),
        ("pt", ChatLanguages("pt-BR")),
        ("auto-zh-TW", ChatLanguages("zh-Hant")),
        ("en-US", ChatLanguages("en")),
        ("fr-de", ChatLanguages("de", "fr")),
        ("it-de", None),
        ("gpt-4o-mini", None),
        ("", None),
        ("-" * 100_000, None),
    ],
)
def test_the_name_of_a_model_names_languages(model: str, expected: ChatLanguages | None) -> None:
    assert languages_of_model(model, CATALOGUE) == expected


def test_the_model_and_a_system_message_must_agree(http: httpx.Client) -> None:
    def send(model: str, system: str) -> httpx.Response:
        return http.post(PATH, json=body("Hello", model, system))

    agreed = send("dragoman-en-fr", "Translate from English to French.").json()
    assert agreed["choices"][0]["message"]["content"] == "Hello|french"
    for system in ("Translate to German.", "Translate from German."):
        assert error_of(send("dragoman-en-fr", system))[:3] == (400, "ambiguous_language", "messages")
    assert send("en-fr", "You are a helpful assistant.").status_code == 200
    assert error_of(send("fr", "x" * 8001))[:2] == (400, "string_above_max_length")


def test_a_source_that_is_named_is_not_detected(http: httpx.Client) -> None:
    found = http.post(PATH, json=body("Hallo", "dragoman", "Translate from English to French.")).json()
    assert found["choices"][0]["message"]["content"] == "Hallo|french"


@given(st.text(max_size=200) | st.text("to fromagetl:-> (\n", max_size=200))
def test_any_text_names_languages_or_is_rejected(text: str) -> None:
    try:
        found = of_text(text)
    except ApiError:
        return
    assert found.target in {None, *CATALOGUE.routes.targets()}
    assert found.source in {None, *CATALOGUE.routes.sources()}
