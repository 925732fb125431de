"""Abbreviations stand for long words of the source; the same letters are also words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.conftest import GERMAN_TO_ENGLISH, READING_FILES, copies_of
from training.corpus import TextPair
from training.variants.abbreviated import abbreviated, word_at_end
from training.variants.drawing import stream

ALWAYS = 1 - 1e-9


def shortened(source: str, language: str, count: int = 80) -> set[str | None]:
    pair = TextPair(source, "x")
    return {abbreviated(pair, stream(seed, "test"), language, READING_FILES) for seed in range(count)}


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        ("Das dauert 2 Wochen.", "de", {"Das dauert 2 Wo."}),
        ("Das dauert eventuell lange.", "de", {"Das dauert evtl. lange.", "Das dauert evtl lange."}),
        ("Eventuell dauert es lange.", "de", {"Evtl. dauert es lange.", "Evtl dauert es lange."}),
        ("Wir zahlen monatlich.", "de", {"Wir zahlen mtl."}),
        ("It drives 5 miles per hour.", "en", {"It drives 5 mph."}),
        ("She has 6 pounds.", "en", {"She has 6 lbs."}),
        ("See page 7 for more.", "en", {"See p. 7 for more."}),
    ],
)
def test_long_words_become_abbreviations_with_the_same_capital(
    source: str, language: str, expected: set[str | None]
) -> None:
    assert shortened(source, language) == expected


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("Die Stunden vergehen.", "de"),  # no number before them
        ("Das Spielartikelbuch liegt da.", "de"),  # part of a word
        ("The page was empty.", "en"),
        ("Ich lerne Französisch in der Schule.", "de"),  # a noun
        ("Il dure deux heures.", "fr"),
    ],
)
def test_words_of_another_use_stay(source: str, language: str) -> None:
    assert shortened(source, language) == {None}


@given(seed=st.integers(0, 10**6))
def test_only_the_source_is_abbreviated(seed: int) -> None:
    pair = TextPair("Er kommt wahrscheinlich am Montag, gegebenenfalls mit Frau Berger.", "He will come.")

    ((_, _, copy),) = copies_of([pair], {"abbreviated": ALWAYS}, seed, GERMAN_TO_ENGLISH)

    assert copy.target == pair.target
    assert len(copy.source) < len(pair.source)
    assert ".." not in copy.source


def test_a_word_at_the_end_of_a_sentence_is_followed_by_another_sentence_on_both_sides() -> None:
    lines = {word_at_end(stream(seed, "test")) for seed in range(400)}

    assert len(lines) > 250
    for line in lines:
        assert sum(mark in ".?!" for mark in line.german) >= 2
        assert line.german[-1] == line.english[-1]
    assert {"Max.", "Art."} <= {word for line in lines for word in line.german.split()}
    assert {"fed.", "temp.", "sec."} <= {word for line in lines for word in line.english.split()}
