"""Formality by DeepL's own client, with the models that ship."""

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
    ("formality", "word"),
    [("more", "Sie"), ("prefer_more", "Sie"), ("less", "du"), ("prefer_less", "du")],
)
def test_a_formality_chooses_the_form_of_address_in_texts_and_documents(
    client: deepl.DeepLClient, formality: str, word: str
) -> None:
    wanted: dict[str, Any] = {"source_lang": "EN", "target_lang": "DE", "formality": formality}
    handle = upload(client, TEXT, **wanted)
    until(lambda: client.translate_document_get_status(handle).done)

    for text in (str(client.translate_text(TEXT, **wanted)), fetch(client, handle).decode()):
        assert word in text.replace("?", " ").split()


def test_the_list_of_targets_says_which_support_formality(client: deepl.DeepLClient) -> None:
    listed = {each.code: each.supports_formality for each in client.get_target_languages()}

    assert listed == {"DE": True, "EN-GB": False, "EN-US": False}
