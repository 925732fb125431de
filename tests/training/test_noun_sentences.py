"""Sentences with everyday nouns are grammatical and say the same in both languages."""

import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalise_segment
from training.corpus import TextPair, is_clean
from training.variants.formats import Bilingual
from training.variants.noun_phrases import Noun, Phrase, english_plural_of
from training.variants.nouns import compounds, noun_sentences, read_nouns

NOUNS = {noun.german: noun for noun in read_nouns()}
ADJECTIVES = st.sampled_from(
    [Bilingual("neu", "new"), Bilingual("teuer", "expensive"), Bilingual("müde", "tired")]
)
BASES = {"neu": "neu", "teuer": "teur", "müde": "müd"}


@pytest.fixture(scope="module")
def sentences() -> list[TextPair]:
    return list(noun_sentences(3, seed=1, source_language="de"))


def phrase(german: str, *, is_plural: bool = False) -> Phrase:
    return Phrase(NOUNS[german], is_plural, Bilingual("neu", "new"))


def test_every_noun_has_the_same_number_of_readings_and_few_sentences_are_equal(
    sentences: list[TextPair],
) -> None:
    assert len(sentences) == 3 * len(read_nouns())
    assert len(set(sentences)) > 0.95 * len(sentences)
    for noun in read_nouns():
        found = sum(noun.german[1:-1] in pair.source or str(noun.plural) in pair.source for pair in sentences)
        assert found >= 3, noun


def test_the_seed_determines_the_sentences_and_the_other_direction_has_the_same(
    sentences: list[TextPair],
) -> None:
    other = list(islice(noun_sentences(1, seed=1, source_language="en"), 500))

    assert [TextPair(pair.target, pair.source) for pair in other] == sentences[:500]
    assert list(islice(noun_sentences(1, seed=2, source_language="de"), 500)) != sentences[:500]


def test_sentences_are_complete_as_many_on_both_sides_and_without_slots(sentences: list[TextPair]) -> None:
    for pair in sentences:
        assert is_clean(pair, max_length_ratio=4.0)
        assert (pair.source, pair.target) == (normalise_segment(pair.source), normalise_segment(pair.target))
        assert not re.search(r"[<>⟨⟩\[\]|#+]|\b[NM]\b|  | [.,?!]", pair.source + pair.target)
        ends = [len(re.findall("[.!?](?= |$)", side)) for side in (pair.source, pair.target)]
        assert ends[0] == ends[1], pair


def test_only_nouns_that_are_not_counted_are_measured(sentences: list[TextPair]) -> None:
    found = [re.search(r"(?:200 g|Ein Glas|Eine Flasche) ([A-ZÄÖÜ]\w+)", pair.source) for pair in sentences]
    assert {NOUNS[each[1]].is_countable for each in found if each} == {False}


DETERMINERS = {
    ("der", "nominative"): "der die das die",
    ("den", "accusative"): "den die das die",
    ("dem", "dative"): "dem der dem den",
    ("des", "genitive"): "des der des der",
    ("ein", "nominative"): "ein eine ein -",
    ("einen", "accusative"): "einen eine ein -",
    ("einem", "dative"): "einem einer einem -",
    ("kein", "nominative"): "kein keine kein keine",
    ("meinen", "accusative"): "meinen meine mein meine",
    ("unserem", "dative"): "unserem unserer unserem unseren",
    ("dieser", "nominative"): "dieser diese dieses diese",
    ("im", "dative"): "im in&der im in&den",
    ("zum", "dative"): "zum zur zum zu&den",
}
"""Forms for masculine, feminine, neuter and plural."""
STRONG = {
    "nominative": "er e es e",
    "accusative": "en e es e",
    "dative": "em er em en",
    "genitive": "en er en er",
}


@given(
    slot=st.sampled_from(sorted(DETERMINERS)),
    noun=st.sampled_from([noun for noun in read_nouns() if noun.is_countable]),
    is_plural=st.booleans(),
    adjective=ADJECTIVES,
)
def test_determiners_adjectives_and_nouns_agree(
    slot: tuple[str, str], noun: Noun, adjective: Bilingual, *, is_plural: bool
) -> None:
    determiner, case = slot
    gender = 3 if is_plural else "mfn".index(noun.gender)
    form = DETERMINERS[slot].split(" ")[gender].replace("&", " ")

    text = Phrase(noun, is_plural, adjective).in_german(f"{determiner} A N")

    *found, word, last = text.split(" ")
    assert " ".join(found) == form.strip("-")
    strong = STRONG[case].split(" ")[gender]
    assert word.startswith(BASES[adjective.german])
    ending = word.removeprefix(BASES[adjective.german])
    if (
        form[-2:] in {"er", "es", "as", "ie", "en", "em", "ne", "re"}
        or form[-1:] == "e"
        or form[-2:] in {"im", "um", "ur"}
    ):
        assert ending in {"e", "en"}
        assert ending == "en" or case in {"nominative", "accusative"}
    else:
        assert ending == strong  # nothing before it shows gender and case
    assert last.startswith(noun.german[0]) or noun.german[0] in "AOU"
    if is_plural:
        assert last.endswith(("n", "s")) or case != "dative"


@pytest.mark.parametrize(
    ("german", "slot", "expected"),
    [
        ("Bär", "den A N", "den neuen Bären"),
        ("Löwe", "einem A N", "einem neuen Löwen"),
        ("Nachbar", "der N", "der Nachbar"),
        ("Arzt", "des N", "des Arztes"),
        ("Lehrer", "des N", "des Lehrers"),
        ("Mehl", "einen A N", "neues Mehl"),
        ("Milch", "keinen N", "keine Milch"),
        ("Lampe", "den bestellten N", "die bestellte Lampe"),
        ("Haus", "dem A N", "dem neuen Haus"),
    ],
)
def test_forms_of_the_singular(german: str, slot: str, expected: str) -> None:
    assert phrase(german).in_german(slot) == expected


@pytest.mark.parametrize(
    ("german", "slot", "expected"),
    [
        ("Haus", "den A N", "die neuen Häuser"),
        ("Apfelbaum", "dem N", "den Apfelbäumen"),
        ("Apfel", "einen N", "Äpfel"),
        ("Lehrerin", "der N", "die Lehrerinnen"),
        ("Museum", "den N", "die Museen"),
    ],
)
def test_forms_of_the_plural(german: str, slot: str, expected: str) -> None:
    assert phrase(german, is_plural=True).in_german(slot) == expected


@pytest.mark.parametrize(
    ("german", "slot", "singular", "plural"),
    [
        ("Apfel", "a N", "an apple", "apples"),
        ("Apfel", "a A N", "a new apple", "new apples"),
        ("Uniform", "A N", "A uniform", "Uniforms"),
        ("Messer", "this N", "this knife", "these knives"),
        ("Schere", "a A N", "a pair of new scissors", "new scissors"),
        ("Schere", "this N", "these scissors", "these scissors"),
        ("Kirsche", "the old N", "the old cherry", "the old cherries"),
        ("Lehrerin", "He", "She", "They"),
        ("Milch", "a A N", "new milk", "new milk"),
    ],
)
def test_english_phrases(german: str, slot: str, singular: str, plural: str) -> None:
    assert phrase(german).in_english(slot) == singular
    assert phrase(german, is_plural=True).in_english(slot) == plural


def test_a_pronoun_points_back_with_the_gender_of_its_noun(sentences: list[TextPair]) -> None:
    pronouns = {"Der": "Er", "Die": "Sie", "Das": "Es"}
    found = 0
    for pair in sentences:
        match = re.match(r"(Der|Die|Das) ([A-ZÄÖÜ]\S+) (?:liegt|steht|ist) [^.]*\. (Er|Sie|Es) ", pair.source)
        if match and match[1] in pronouns:
            found += 1
            assert match[3] == pronouns[match[1]]
            assert re.search(r"[.] (It|He|She|They) ", pair.target)
    assert found > 20


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("box", "boxes"), ("toy", "toys"), ("berry", "berries"), ("bush", "bushes"), ("pan", "pans")],
)
def test_regular_english_plurals(singular: str, plural: str) -> None:
    assert english_plural_of(singular) == plural


def test_compounds_of_two_nouns_are_nouns_with_the_gender_and_plural_of_the_last() -> None:
    terms = [
        ("Gartenzaun", "garden fence"), ("Gartenzäune", "garden fences"),
        ("Küchenmesser", "kitchen knife"), ("Küchenmesser", "kitchen knives"),
        ("Handschere", "claw"), ("Handscheren", "claws"),  # the translation does not end in `scissors`
        ("Berghütte", "mountain hut"),  # without plural
        ("Seltsamzaun", "strange fence"), ("Seltsamzäune", "strange fences"),  # the first part is no noun
    ]  # fmt: skip

    found = {noun.german: noun for noun in compounds(NOUNS.values(), [Bilingual(*term) for term in terms])}

    assert found.keys() == {"Gartenzaun", "Küchenmesser"}
    assert found["Gartenzaun"].groups == NOUNS["Zaun"].groups
    knife = found["Küchenmesser"]
    assert (knife.gender, knife.plural, knife.english_plural) == ("n", "Küchenmesser", "kitchen knives")


def test_each_noun_is_listed_once_and_has_frames_and_adjectives() -> None:
    nouns = read_nouns()

    assert len(nouns) == len(NOUNS) > 1700
    assert all(noun.groups for noun in nouns)
