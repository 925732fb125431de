"""Forms of address: what a request asks for, and models that know none."""

import re

import pytest

from dragoman import DecodingOptions, EngineRequest, InputError, SegmentTranslation, Translator
from dragoman.text.address import translated_forms
from dragoman.types import Formality, Pair
from tests.engine.conftest import TIMEOUT_S

SENTENCES = [
    "Can you help me with your computer?",
    "I know that you are tired.",
    "Where do you live?",
    "Your house is very beautiful.",
]
PAIR = Pair("en", "de")
FORMS = {
    Formality.FORMAL: re.compile(r"\b(Sie|Ihnen|Ihr|Ihre|Ihrem|Ihren|Ihrer)\b"),
    Formality.INFORMAL: re.compile(r"\b([Dd]u|[Dd]ir|[Dd]ich|[Dd]ein|[Dd]eine[mnr]?)\b"),
}


@pytest.mark.parametrize("formality", FORMS)
def test_a_translation_addresses_people_as_requested(en_de: Translator, formality: Formality) -> None:
    (other,) = FORMS.keys() - {formality}

    for sentence in SENTENCES:
        text = en_de.translate(sentence, DecodingOptions(formality=formality)).text

        assert FORMS[formality].search(text), text
        assert not FORMS[other].search(text), text


def test_every_segment_of_a_text_gets_the_requested_form(en_de: Translator) -> None:
    translation = en_de.translate(" ".join(SENTENCES), DecodingOptions(formality=Formality.FORMAL))

    assert all(FORMS[Formality.FORMAL].search(segment.text) for segment in translation.segments)


MIXED = [
    "Did you sleep well? Your breakfast is on the table. You have to leave at eight.",
    "You are invited to our wedding. Please tell us whether you are coming. Do you eat meat?",
]
"""Without a form of address for the whole text, the model gives these both."""


@pytest.mark.parametrize("text", MIXED)
def test_a_text_has_one_form_of_address_unless_one_is_requested(en_de: Translator, text: str) -> None:
    reported: list[SegmentTranslation] = []

    found = en_de.submit(text, EngineRequest(on_segment=reported.append)).result(TIMEOUT_S)

    assert tuple(reported) == found.segments
    assert len(translated_forms(text, found.text, PAIR)) == 1
    for formality in FORMS:
        requested = en_de.translate(text, DecodingOptions(formality=formality)).text
        assert translated_forms(text, requested, PAIR) == {formality}


def test_a_text_keeps_its_one_form_of_address(en_de: Translator) -> None:
    text = "Did you do your homework?\nShow it to me.\nYou can play after that."
    alone = [en_de.translate(line).text for line in text.split("\n")]

    assert en_de.translate(text).text.split("\n") == alone


def test_a_preference_gives_what_a_request_gives(en_de: Translator) -> None:
    wanted, preferred = (
        en_de.translate(SENTENCES[0], DecodingOptions(formality=formality)).text
        for formality in (Formality.FORMAL, Formality.PREFER_FORMAL)
    )

    assert wanted == preferred


def test_word_links_do_not_shift_by_the_control(en_de: Translator) -> None:
    options = DecodingOptions(formality=Formality.FORMAL, return_alignment=True)

    translation = en_de.translate("Where is your dog?", options)

    source, segment = "Where is your dog?", translation.segments[0]
    linked = {source[slice(*link.source)]: segment.text[slice(*link.target)] for link in segment.links or ()}
    assert linked["dog"] == "Hund"


def test_a_model_without_forms_rejects_a_request_and_ignores_a_preference(tiny: Translator) -> None:
    plain = tiny.translate("Ein Hund rennt.").text

    with pytest.raises(
        InputError, match="formality: this model knows no forms of address in en; send prefer_"
    ):
        tiny.translate("Ein Hund rennt.", DecodingOptions(formality=Formality.INFORMAL))

    preferred = DecodingOptions(formality=Formality.PREFER_INFORMAL)
    assert tiny.translate("Ein Hund rennt.", preferred).text == plain
