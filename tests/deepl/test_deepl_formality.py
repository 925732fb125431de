"""Formality by DeepL's own client, with the models that ship."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import deepl
import pytest

from dragoman.routing.router import Router, TranslatorOptions
from tests.service.conftest import ready_client

MODELS = Path(__file__).parents[2] / "models"
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
def test_a_formality_chooses_the_form_of_address(
    client: deepl.DeepLClient, formality: str, word: str
) -> None:
    result = client.translate_text(TEXT, source_lang="EN", target_lang="DE", formality=formality)

    assert isinstance(result, deepl.TextResult)
    assert word in result.text.split()[1:] or f"{word}?" in result.text.split()


def test_a_target_without_forms_rejects_more_and_ignores_a_preference(client: deepl.DeepLClient) -> None:
    words = r"'formality' is not supported for given 'target_lang'.*knows no forms.*send prefer_more"
    with pytest.raises(deepl.DeepLException, match=words):
        client.translate_text("Wo wohnst du?", source_lang="DE", target_lang="EN-US", formality="more")

    result = client.translate_text(
        "Guten Tag!", source_lang="DE", target_lang="EN-US", formality="prefer_more"
    )
    plain = client.translate_text("Guten Tag!", source_lang="DE", target_lang="EN-US")
    assert isinstance(result, deepl.TextResult)
    assert isinstance(plain, deepl.TextResult)
    assert result.text == plain.text


def test_the_list_of_targets_tells_which_have_forms(client: deepl.DeepLClient) -> None:
    listed = {each.code: each.supports_formality for each in client.get_target_languages()}

    assert listed == {"DE": True, "EN-GB": False, "EN-US": False}


@pytest.mark.parametrize(("formality", "word"), [("more", "Sie"), ("less", "du")])
def test_a_document_gets_the_requested_form_of_address(
    client: deepl.DeepLClient, formality: str, word: str
) -> None:
    result = io.BytesIO()

    client.translate_document(
        TEXT, result, filename="a.txt", source_lang="EN", target_lang="DE", formality=formality
    )

    assert word in result.getvalue().decode().replace("?", " ").split()


def test_a_document_for_a_target_without_forms_is_rejected_at_once(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match=r"'formality' is not supported for given 'target_lang'"):
        client.translate_document_upload(
            "Hallo", filename="a.txt", source_lang="DE", target_lang="EN-US", formality="less"
        )
