"""Forms of address: what a request asks for, and models that know none."""

import re

import pytest

from dragoman import DecodingOptions, InputError, Translator
from dragoman.types import Formality

SENTENCES = [
    "Can you help me with your computer?",
    "I know that you are tired.",
    "Where do you live?",
    "Your house is very beautiful.",
]
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

    assert len(translation.segments) == len(SENTENCES)
    assert all(FORMS[Formality.FORMAL].search(segment.text) for segment in translation.segments)


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
