"""Sentences with the verbs of a dictionary have only forms that exist, and say the same in both languages."""

import re

import pytest

from dragoman.text.normalization import normalise_segment
from training.corpus import TextPair
from training.variants.formats import Bilingual
from training.variants.verbs import VerbPhrase, verb_phrases, verb_sentences

DICTIONARY = [
    TextPair("den Tisch decken", "to set the table"),
    TextPair("etwas bügeln", "to iron something"),
    TextPair("bügeln", "to iron"),
    TextPair("jemanden abholen", "to collect someone"),
    TextPair("sich ausruhen", "to rest oneself"),
    TextPair("seine Schulden bezahlen", "to pay one's debts"),
    TextPair("verstauchen", "to sprain"),
    TextPair("laufen", "to run"),
    TextPair("laufen", "to operate"),
    TextPair("gebügelt werden", "to iron"),
    TextPair("zu Fall bringen", "to topple someone"),
    TextPair("bügelfrei", "no-iron"),
    TextPair("schmoren", "to braise"),
]
WORDS = """decken gedeckt bügeln gebügelt abholen abgeholt abzuholen ausruhen auszuruhen ausgeruht bezahlen
bezahlt bezahlte verstauchen verstaucht laufen lauft bringen set sets iron ironed irons collect collected
collects rest rested rests pay pays sprain sprained run runs operate operates operated topple"""
TEXT = [*[TextPair(WORDS, WORDS)] * 3, *[TextPair("Wir laufen", "We run")] * 2]


def sentences(readings: int) -> list[TextPair]:
    return list(verb_sentences(readings, 1, "de", DICTIONARY, TEXT))


@pytest.fixture(scope="module")
def many() -> list[TextPair]:
    return sentences(1500)


@pytest.fixture(scope="module")
def phrases() -> dict[str, VerbPhrase]:
    found = verb_phrases(
        *([Bilingual(pair.source, pair.target) for pair in side] for side in (DICTIONARY, TEXT))
    )
    return {phrase.text.german: phrase for phrase in found}


def test_phrases_of_known_verbs_with_the_same_objects_in_the_active_voice_are_used(
    phrases: dict[str, VerbPhrase],
) -> None:
    left_out = {"gebügelt werden", "zu Fall bringen", "bügelfrei", "schmoren"}
    assert phrases.keys() == {pair.source for pair in DICTIONARY} - left_out
    assert phrases["laufen"].text.english == "run"


@pytest.mark.parametrize(
    ("german", "form", "expected"),
    [
        ("etwas bügeln", "participle", Bilingual("gebügelt", "ironed")),
        ("etwas bügeln", "present", Bilingual("bügelt", "irons")),
        ("jemanden abholen", "participle", Bilingual("abgeholt", "collected")),
        ("jemanden abholen", "past", Bilingual("holte", "collected")),
        ("jemanden abholen", "zu", Bilingual("abzuholen", "collect")),
        ("seine Schulden bezahlen", "zu", Bilingual("zu bezahlen", "pay")),
        ("seine Schulden bezahlen", "present", Bilingual("bezahlt", "pays")),
        ("seine Schulden bezahlen", "past", None),
        ("den Tisch decken", "past", None),
        ("laufen", "participle", None),
        ("laufen", "present", None),
        ("verstauchen", "participle", None),
    ],
)
def test_a_form_is_made_by_rule_if_text_has_it_in_both_languages(
    phrases: dict[str, VerbPhrase], german: str, form: str, expected: Bilingual | None
) -> None:
    assert phrases[german].forms.get(form) == expected


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Gestern holte er ihn ab.", "Yesterday he collected him."),
        ("Ich glaube, dass er sich ausruht.", "I think that he rests himself."),
        ("Er hat beschlossen, seine Schulden zu bezahlen.", "He decided to pay his debts."),
        ("Jemand muss den Tisch decken.", "Someone has to set the table."),
        ("Gestern habe ich es gebügelt.", "Yesterday I ironed it."),
        ("Vergiss nicht, sie abzuholen.", "Don't forget to collect her."),
    ],
)
def test_the_verb_stands_where_german_and_english_have_it(
    many: list[TextPair], german: str, english: str
) -> None:
    assert TextPair(german, english) in many


def test_every_phrase_has_the_same_number_of_readings(phrases: dict[str, VerbPhrase]) -> None:
    assert len(sentences(3)) == 3 * len(phrases)


def test_the_seed_determines_the_sentences_and_the_other_direction_has_the_same() -> None:
    turned = ([TextPair(pair.target, pair.source) for pair in pairs] for pairs in (DICTIONARY, TEXT))
    other = verb_sentences(3, 1, "en", *turned)
    assert [TextPair(pair.target, pair.source) for pair in other] == sentences(3)
    assert list(verb_sentences(3, 2, "de", DICTIONARY, TEXT)) != sentences(3)


def test_sentences_are_complete_and_only_he_is_said_to_do_something_to_himself(many: list[TextPair]) -> None:
    for pair in many:
        for side in (pair.source, pair.target):
            assert side == normalise_segment(side)
            assert not re.search(r"[<>]|  | [.,?]|one's|oneself", side)
        if " sich " in pair.source:
            assert re.search(r"\bhe\b|\bman\b|\bMr\b", pair.target, re.IGNORECASE), pair
