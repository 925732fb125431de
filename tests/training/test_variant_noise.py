"""Carelessly written sources; the target never changes."""

# ruff: noqa: RUF001 -- quotation marks of all kinds are what this is about

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.conftest import ENGLISH_TO_GERMAN, GERMAN_TO_ENGLISH, copies_of
from training.corpus import Pair
from training.variants import noise
from training.variants.drawing import stream
from training.variants.inserts import Languages

NOISE = ("lower_source", "small_first", "title_case", "quotes", "punctuation", "spelt_umlauts", "typo")
ALWAYS = 1 - 1e-9

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
    for pair, _, copy in copies_of([Pair(source, target)], dict.fromkeys(NOISE, ALWAYS), seed, languages):
        assert copy.target == pair.target
        assert copy.source != pair.source
        assert copy.source


@given(source=sentences, target=sentences, seed=st.integers(0, 99))
def test_changing_quotation_style_keeps_every_letter(source: str, target: str, seed: int) -> None:
    for rng, language in ((stream(seed, "test"), "de"), (stream(seed, "test"), "en")):
        other = noise.quotes(Pair(source, target), rng, language)
        assert other is None or letters(other) == letters(source)


@pytest.mark.parametrize(
    ("source", "straight"),
    [
        ("Er sagte: „Nein.“", 'Er sagte: "Nein."'),
        ("»So«, sagte er – leise …", '"So", sagte er - leise ...'),
        ("I don’t know “why”.", 'I don\'t know "why".'),
    ],
)
def test_typographic_marks_become_straight_ones_in_half_of_the_sources(source: str, straight: str) -> None:
    results = [noise.quotes(Pair(source, "x"), rng, "de") for rng in rngs(200)]

    assert 70 <= results.count(straight) <= 150


def test_straight_marks_become_typographic_ones_of_the_language() -> None:
    german = {noise.quotes(Pair('Er sagte "Nein" und "Ja".', "x"), rng, "de") for rng in rngs()}
    english = {noise.quotes(Pair("I don't", "x"), rng, "en") for rng in rngs()}

    assert {"Er sagte „Nein“ und „Ja“.", "Er sagte »Nein« und »Ja«."} <= german
    assert {"I don’t", "I don´t"} <= english


@pytest.mark.parametrize(
    "source",
    ['Er sagt "ja" und misst 5"', 'Ein 5" Rohr', '<x id="1"/>', 'Er nennt `main` "gut"', "ohne alles"],
)
def test_marks_that_may_not_be_quotation_marks_are_unchanged(source: str) -> None:
    assert {noise.quotes(Pair(source, "x"), rng, "de") for rng in rngs()} == {None}


def test_the_final_mark_is_repeated_spaced_or_mixed() -> None:
    results = {noise.punctuation(Pair("Wirklich?", "Really?"), rng) for rng in rngs(200)}

    assert {"Wirklich??", "Wirklich???", "Wirklich ?", "Wirklich?!"} <= results
    assert all(result is not None and result.startswith("Wirklich") and "?" in result for result in results)


@pytest.mark.parametrize(
    ("source", "target"), [("Nein.", "No!"), ("Nein", "No"), ("Nein...", "No..."), ("Nein:", "No:")]
)
def test_a_final_mark_that_the_target_lacks_is_unchanged(source: str, target: str) -> None:
    assert {noise.punctuation(Pair(source, target), rng) for rng in rngs()} == {None}


def test_title_case_capitalises_words_and_sometimes_function_words() -> None:
    results = {noise.title_case(Pair("the end of a long (very long) day", "x"), rng) for rng in rngs()}

    assert results == {"The End Of A Long (Very Long) Day", "The End of a Long (Very Long) Day"}


@pytest.mark.parametrize("source", ["zwei worte", "Datei %s nicht gefunden heute", "Das Ist Schon Groß"])
def test_title_case_skips_short_lines_code_and_lines_in_title_case(source: str) -> None:
    assert {noise.title_case(Pair(source, "x"), rng) for rng in rngs()} == {None}


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("Der Hund bellt.", "der Hund bellt."),
        ("Überall Ärger", "überall Ärger"),
        ("USA sind groß", None),
        ("DateTime::add fehlt", None),
        ("schon klein", None),
    ],
)
def test_small_first_changes_only_the_first_letter_and_skips_acronyms_and_code(
    source: str, result: str | None
) -> None:
    assert noise.small_first(Pair(source, "x"), Random(1)) == result  # noqa: S311 -- not for secrets


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        ("Tom mag die EU.", "Tom likes the EU.", "tom mag die eu."),
        ("Setze DATA_DIR zuerst.", "Set DATA_DIR first.", None),
        ("Ein GObject reicht.", "A GObject is enough.", None),
        ("Siehe ABC-12.", "See ABC-12.", None),
        ("Nimm %s Eier", "Take %s eggs", "nimm %s eier"),
    ],
)
def test_lower_source_skips_code_with_capitals_that_the_target_shares(
    source: str, target: str, result: str | None
) -> None:
    assert noise.lower_source(Pair(source, target)) == result


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        ("Größe und Übermut", "size", "Groesse und Uebermut"),
        ("ÜBERMUT TUT ÄRGER", "x", "UEBERMUT TUT AERGER"),
        ("Ärger", "x", "Aerger"),
        ("Herr Müller grüßt", "Mr Müller says hello", None),
        ("Hund", "dog", None),
    ],
)
def test_umlauts_are_spelt_out_unless_the_target_contains_the_word(
    source: str, target: str, result: str | None
) -> None:
    assert noise.spelt_umlauts(Pair(source, target), Random(1)) == result  # noqa: S311 -- not for secrets


def test_typos_are_few_and_skip_names_code_and_the_ends_of_words() -> None:
    source = "Maximilian schreibt heute wahrscheinlich mehrere Nachrichten an read_file und ARTE"
    for rng in rngs(200):
        result = noise.typo(Pair(source, "Maximilian is probably writing"), rng)
        if result is None:
            continue
        before, after = source.split(" "), result.split(" ")
        changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        assert 1 <= len(changed) <= 2
        for old, new in changed:
            assert old in {"schreibt", "heute", "wahrscheinlich", "mehrere", "Nachrichten"}
            assert (new[0], new[-1]) == (old[0], old[-1])
            assert abs(len(new) - len(old)) <= 1
