"""Carelessly written and abbreviated sources; the target never changes."""

# ruff: noqa: RUF001 -- quotation marks of all kinds are what this is about

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases
from tests.training.conftest import ENGLISH_TO_GERMAN, GERMAN_TO_ENGLISH, READING_FILES, copies_of
from training.corpus import TextPair
from training.variants import noise
from training.variants.abbreviated import abbreviated, word_at_end
from training.variants.drawing import stream
from training.variants.inserts import Languages

NOISE = (
    "lower_source",
    "small_first",
    "title_case",
    "quotes",
    "punctuation",
    "spelt_umlauts",
    "swiss_spelling",
    "typo",
)
ALWAYS = 1 - 1e-9
CASES = read_cases(__file__)
Variant = Callable[[TextPair, Random], str | None]
VARIANTS: dict[str, Variant] = {
    "lower_source": lambda pair, _: noise.lower_source(pair),
    "small_first": noise.small_first,
    "title_case": noise.title_case,
    "quotes": partial(noise.quotes, language="de"),
    "punctuation": noise.punctuation,
    "spelt_umlauts": noise.spelt_umlauts,
    "swiss_spelling": noise.swiss_spelling,
}

words = st.text(st.sampled_from("aeiounrstdhlmäöüßABEÄÖ'’\"„“”-–…."), min_size=1, max_size=9)
marks = st.sampled_from(["", ".", "!", "?", "...", " .", "?!"])
sentences = st.builds(
    lambda parts, mark: " ".join(parts) + mark, st.lists(words, min_size=1, max_size=12), marks
)


def rngs(count: int = 60) -> list[Random]:
    return [stream(number, "test") for number in range(count)]


def letters(text: str) -> str:
    """What quotation marks, dashes and dots are not."""
    return "".join(character for character in text if character.isalnum())


@given(
    source=sentences,
    target=sentences,
    seed=st.integers(0, 99),
    languages=st.sampled_from([GERMAN_TO_ENGLISH, ENGLISH_TO_GERMAN]),
)
def test_noise_changes_only_the_source(source: str, target: str, seed: int, languages: Languages) -> None:
    for pair, _, copy in copies_of([TextPair(source, target)], dict.fromkeys(NOISE, ALWAYS), seed, languages):
        assert copy.target == pair.target
        assert copy.source != pair.source
        assert copy.source


@given(source=sentences, target=sentences, seed=st.integers(0, 99))
def test_changing_quotation_style_keeps_every_letter(source: str, target: str, seed: int) -> None:
    for rng, language in ((stream(seed, "test"), "de"), (stream(seed, "test"), "en")):
        other = noise.quotes(TextPair(source, target), rng, language)
        assert other is None or letters(other) == letters(source)


@pytest.mark.parametrize(("source", "straight"), CASES["straight"])
def test_typographic_marks_become_straight_ones_in_half_of_the_sources(source: str, straight: str) -> None:
    results = [noise.quotes(TextPair(source, "x"), rng, "de") for rng in rngs(200)]

    assert 70 <= results.count(straight) <= 150


def test_straight_marks_become_typographic_ones_of_the_language() -> None:
    german = {noise.quotes(TextPair('Er sagte "Nein" und "Ja".', "x"), rng, "de") for rng in rngs()}
    english = {noise.quotes(TextPair("I don't", "x"), rng, "en") for rng in rngs()}

    assert {"Er sagte „Nein“ und „Ja“.", "Er sagte »Nein« und »Ja«."} <= german
    assert {"I don’t", "I don´t"} <= english


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in VARIANTS for case in CASES.get(name, [])]
)
def test_a_source_has_one_noisy_form_or_none(name: str, case: dict[str, Any]) -> None:
    pair = TextPair(case["source"], case.get("target", "x"))

    assert {VARIANTS[name](pair, rng) for rng in rngs()} == {case.get("result")}, case["rule"]


def test_the_final_mark_is_repeated_spaced_or_mixed() -> None:
    results = {noise.punctuation(TextPair("Wirklich?", "Really?"), rng) for rng in rngs(200)}

    assert {"Wirklich??", "Wirklich???", "Wirklich ?", "Wirklich?!"} <= results
    assert all(result is not None and result.startswith("Wirklich") and "?" in result for result in results)


def test_title_case_capitalises_words_and_sometimes_function_words() -> None:
    results = {noise.title_case(TextPair("the end of a long (very long) day", "x"), rng) for rng in rngs()}

    assert results == {"The End Of A Long (Very Long) Day", "The End of a Long (Very Long) Day"}


def test_typos_are_few_and_skip_names_code_and_the_ends_of_words() -> None:
    source = "Maximilian schreibt heute wahrscheinlich mehrere Nachrichten an read_file und ARTE"
    for rng in rngs(200):
        result = noise.typo(TextPair(source, "Maximilian is probably writing"), rng)
        if result is None:
            continue
        if result == result.lower():
            continue  # a careless source, see the next test
        before, after = source.split(" "), result.split(" ")
        changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        assert 1 <= len(changed) <= 4
        for old, new in changed:
            assert old in {"schreibt", "heute", "wahrscheinlich", "mehrere", "Nachrichten"}
            assert (new[0], new[-1]) == (old[0], old[-1])
            assert abs(len(new) - len(old)) <= 1


def test_some_sources_with_typos_have_neither_capitals_nor_apostrophes_nor_a_final_mark() -> None:
    pair = TextPair("That's what Sarah always remembers.", "Das merkt sich Sarah immer.")
    results = {result for rng in rngs(200) if (result := noise.typo(pair, rng)) is not None}

    careless = {result for result in results if result == result.lower()}
    assert careless and careless < results  # noqa: PT018 -- some, not all
    assert not any("'" in result or result.endswith(".") for result in careless)


def test_a_typo_may_spell_a_sound_in_another_way() -> None:
    results = {noise.typo(TextPair("vielleicht", "maybe"), rng) for rng in rngs(200)}

    assert {"veilleicht", "villeicht", "viellieicht"} & results


def test_one_word_that_the_target_does_not_contain_is_in_capitals() -> None:
    pair = TextPair("Das ist für Anna sehr wichtig.", "That is very important to Anna.")
    results = {noise.upper_word(pair, rng) for rng in rngs(200)}

    assert "Das ist für Anna sehr WICHTIG." in results
    assert all(result is not None and "Anna" in result for result in results)
    assert all(
        sum(old != new for old, new in zip(pair.source.split(), str(result).split(), strict=True)) == 1
        for result in results
    )


def test_a_chat_message_is_short_forms_in_lower_case_mostly_without_marks() -> None:
    english = {noise.chat(TextPair("Are you coming tomorrow?", "x"), rng, "en") for rng in rngs(200)}
    german = {noise.chat(TextPair("Ich habe keine Zeit.", "x"), rng, "de") for rng in rngs(200)}

    assert {"r u coming tmrw", "are you coming tmr?"} <= english
    assert "hab keine zeit" in german
    assert all(result is None or result == result.lower() for result in (*english, *german))


@pytest.mark.parametrize("language", ["de", "en", "fr"])
def test_long_sentences_and_those_without_short_forms_are_no_chat(language: str) -> None:
    for source in ("Die Katze schläft.", "The cat sleeps.", "you have " * 10):
        assert {noise.chat(TextPair(source, "x"), rng, language) for rng in rngs()} == {None}


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
