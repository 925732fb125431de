"""Who is addressed: a form of address is requested of the model only there."""

import pytest

from dragoman import DecodingOptions, Translator
from dragoman.text.address import may_address, prevailing_form, translated_forms
from dragoman.types import Formality, Pair
from tests.paths import MODELS

ADDRESSED = [
    "Where is your house?",
    "Close the door!",
    "Please don't forget the milk.",
    "If the light is red, press the button.",
    "1. Open the file\n",
    "Do it again.",
    "Do not touch the glass.",
    "And then call the police!",
    "Save, then restart the program.",
    '"Come in," she said.',
    "Let's go home.",
    "This is hot and do not touch it.",
]
NOBODY = [
    "The law must be followed.",
    "She will be there tomorrow.",
    "He opened the door and left.",
    "The youth of today has little time.",
    "Yesterday the train was late.",
    "He was told to save time, and give help.",
    "Rules should be clear and help everybody.",
    "Bern",
    "",
]


FORMAL, INFORMAL = Formality.FORMAL, Formality.INFORMAL
TRANSLATED = [
    ("Do you eat meat?", "Isst du Fleisch?", {INFORMAL}),
    ("Do you eat meat?", "Essen Sie Fleisch?", {FORMAL}),
    ("You are late.", "Sie sind spät.", {FORMAL}),
    ("Bring your card, please.", "Bringen Sie bitte deine Karte.", {FORMAL, INFORMAL}),
    ("She called you.", "Sie hat dich angerufen.", {INFORMAL}),
    ("They are late.", "Sie sind spät.", set()),
    ("He gave it to her.", "Er hat es Ihnen gegeben.", set()),
    ("The house is old.", "Das Haus ist alt.", set()),
]


@pytest.mark.parametrize(("source", "target", "forms"), TRANSLATED)
def test_a_translation_shows_the_forms_of_its_pronouns_where_its_source_addresses_somebody(
    source: str, target: str, forms: set[Formality]
) -> None:
    assert translated_forms(source, target, Pair("en", "de")) == forms
    assert not translated_forms(source, target, Pair("de", "en"))


def test_the_form_of_most_segments_prevails_and_the_formal_one_if_as_many_have_either() -> None:
    assert prevailing_form([{FORMAL}, {INFORMAL}]) is FORMAL
    assert prevailing_form([{INFORMAL}, set(), {INFORMAL}, {FORMAL}]) is INFORMAL
    assert prevailing_form([{FORMAL, INFORMAL}]) is FORMAL
    assert prevailing_form([{INFORMAL}, {INFORMAL}]) is None
    assert prevailing_form([]) is None


@pytest.mark.parametrize("text", ADDRESSED)
def test_second_persons_and_orders_address_somebody(text: str) -> None:
    assert may_address(text, "en")


@pytest.mark.parametrize("text", NOBODY)
def test_a_statement_about_others_addresses_nobody(text: str) -> None:
    assert not may_address(text, "en")


def test_a_text_in_a_language_without_rules_may_always_address_somebody() -> None:
    assert may_address("La loi doit être respectée.", "fr")


@pytest.mark.parametrize("formality", [Formality.FORMAL, Formality.INFORMAL])
def test_a_form_of_address_changes_nothing_where_nobody_is_addressed(formality: Formality) -> None:
    options = DecodingOptions(formality=formality, return_alignment=True)
    with Translator.open(MODELS / "en-de", replicas=1) as translator:
        for text in NOBODY:
            plain = translator.translate(text, DecodingOptions(return_alignment=True))

            assert translator.translate(text, options) == plain
