"""Formality and Swiss German by DeepL's own client, with the models that ship."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import deepl
import pytest

from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router
from tests.engine.routing.doubles import until
from tests.paths import MODELS
from tests.service.conftest import ready_client
from tests.service.deepl.conftest import fetch, upload

TEXT = "Where do you live?"


@pytest.fixture(scope="module")
def client() -> Iterator[deepl.DeepLClient]:
    with (
        Router.open(MODELS, translators=TranslatorOptions(replicas=1)) as router,
        ready_client(router) as http,
        ExitStack() as closing,
    ):
        client = deepl.DeepLClient("any", server_url=str(http.base_url))
        closing.callback(client.close)
        yield client


@pytest.mark.parametrize(
    ("formality", "word"), [("more", "Sie"), ("prefer_more", "Sie"), ("less", "du"), ("prefer_less", "du")]
)
def test_a_formality_chooses_the_form_of_address_in_texts_and_documents(
    client: deepl.DeepLClient, formality: str, word: str
) -> None:
    wanted: dict[str, Any] = {"source_lang": "EN", "target_lang": "DE", "formality": formality}
    handle = upload(client, TEXT, **wanted)
    until(lambda: client.translate_document_get_status(handle).done)

    for text in (str(client.translate_text(TEXT, **wanted)), fetch(client, handle).decode()):
        assert word in text.replace("?", " ").split()


@pytest.mark.parametrize(
    ("context", "expected"),
    [("Wir haben einen Garten.", "It is small.\nHe is small."), ("", "He is small.\nHe is small.")],
)
def test_a_context_says_what_a_pronoun_of_the_first_line_stands_for(
    client: deepl.DeepLClient, context: str, expected: str
) -> None:
    text = "Er ist klein.\nEr ist klein."

    found = client.translate_text(text, context=context, source_lang="DE", target_lang="EN-GB")

    assert str(found) == expected


def test_the_list_of_targets_says_which_support_formality(client: deepl.DeepLClient) -> None:
    listed = {each.code: each.supports_formality for each in client.get_target_languages()}

    assert listed == {"DE": True, "DE-CH": True, "EN-GB": False, "EN-US": False}


@pytest.mark.parametrize("target", ["DE-CH", "de-ch"])
def test_swiss_german_has_no_sharp_s_in_texts_and_documents(client: deepl.DeepLClient, target: str) -> None:
    wanted: dict[str, Any] = {"source_lang": "EN", "target_lang": target}
    text = "The street is big: see https://example.org/straße and {Größe}."
    handle = upload(client, text, **wanted)
    until(lambda: client.translate_document_get_status(handle).done)

    for found in (str(client.translate_text(text, **wanted)), fetch(client, handle).decode()):
        assert "Strasse ist gross" in found
        assert "https://example.org/straße" in found
        assert "{Größe}" in found


def test_a_german_text_is_left_as_it_is_in_swiss_german(client: deepl.DeepLClient) -> None:
    text = "Die Straße ist groß, und wir gehen heute in den Garten."

    assert str(client.translate_text(text, source_lang="DE", target_lang="DE-CH")) == text
