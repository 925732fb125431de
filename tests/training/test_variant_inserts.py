"""Things to copy are inserted into both sides alike, and nothing else changes."""

# ruff: noqa: RUF001 -- quotation marks of all kinds

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalise_segment
from tests.cases import read_cases
from tests.training.conftest import ENGLISH_TO_GERMAN, GERMAN_TO_ENGLISH
from training.corpus import TextPair
from training.variants.drawing import stream
from training.variants.inserts import (
    Languages,
    copied_beside,
    copied_inside,
    list_mark,
    other_number,
    quoted,
    repeated,
)
from training.variants.tokens import shared_tokens, tokens_of
from training.variants.verbatim import ADJACENT, ALONE, FOR_NAMES, FOR_NUMBERS, KINDS, around

ENGLISH_TO_DUTCH = ("en", "nl")
CASES = read_cases(__file__)

tokens = st.sampled_from(CASES["tokens"])
sentences = st.builds(
    lambda parts, mark: " ".join(parts) + mark,
    st.lists(tokens, min_size=1, max_size=8),
    st.sampled_from(["", ".", "!", "..."]),
)
pairs = st.builds(TextPair, sentences, sentences)
seeds = st.integers(0, 10_000)


def change(before: str, after: str) -> Counter[str]:
    """How many more there are of each character, or fewer, below zero."""
    difference = Counter(after)
    difference.subtract(before)
    return Counter({character: count for character, count in difference.items() if count})


@given(text=sentences)
def test_tokens_are_at_their_positions_with_only_punctuation_between_them(text: str) -> None:
    rest = text
    for token in reversed(tokens_of(text)):
        assert text[token.begin : token.end] == token.core
        rest = rest[: token.begin] + rest[token.end :]
    assert not re.search(r"\w", rest)


@pytest.mark.parametrize(("token", "cores"), CASES["cores"])
def test_punctuation_around_a_token_is_not_part_of_it(token: str, cores: list[str]) -> None:
    assert [found.core for found in tokens_of(token)] == cores


@pytest.mark.parametrize(("source", "target", "shared"), CASES["shared"])
def test_shared_tokens_occur_once_on_each_side(source: str, target: str, shared: list[str]) -> None:
    found = shared_tokens(TextPair(source, target))

    assert [source_token.core for source_token, _ in found] == shared
    assert [target_token.core for _, target_token in found] == shared


@given(pair=pairs, seed=seeds)
def test_copied_inside_replaces_the_same_token_on_both_sides_by_the_same_thing(
    pair: TextPair, seed: int
) -> None:
    copy = copied_inside(pair, stream(seed, "test"), ENGLISH_TO_DUTCH)
    if copy is not None:
        assert copy != pair
        assert change(pair.source, copy.source) == change(pair.target, copy.target)


@pytest.mark.parametrize(
    ("pair", "languages"),
    [
        (TextPair("Es kamen 250 Leute", "There were 250 people"), GERMAN_TO_ENGLISH),
        (TextPair("There were 250 people", "Es kamen 250 Leute"), ENGLISH_TO_GERMAN),
    ],
)
def test_long_numbers_have_each_sides_own_separators(pair: TextPair, languages: Languages) -> None:
    found = 0
    for seed in range(300):
        copy = copied_inside(pair, stream(seed, "x"), languages)
        assert copy is not None
        german, english = copy.source, copy.target
        if languages == ENGLISH_TO_GERMAN:
            german, english = english, german
        number = re.fullmatch(r"Es kamen (\d{1,3}(?:\.\d{3})*(?:,\d+)?) Leute", german)
        if number is not None and re.search("[.,]", number[1]):
            swapped = number[1].translate(str.maketrans(".,", ",."))
            found += english == f"There were {swapped} people"
    assert found > 50


def test_two_replaced_tokens_keep_their_order() -> None:
    pair = TextPair("Maria gab 2015 Boston auf", "In 2015 she gave up Boston")
    found = 0
    for seed in range(200):
        copy = copied_inside(pair, stream(seed, "x"), ENGLISH_TO_DUTCH)
        assert copy is not None
        found_source = re.fullmatch("Maria gab (.+) auf", copy.source)
        found_target = re.fullmatch("In (.+) she gave up (.+)", copy.target)
        assert found_source is not None
        assert found_target is not None
        assert found_source.group(1) == " ".join(found_target.groups())
        found += "2015" not in copy.source and "Boston" not in copy.source
    assert 30 <= found <= 100


@pytest.mark.parametrize(
    ("replace", "name"),
    [
        (partial(copied_inside, languages=GERMAN_TO_ENGLISH), "no_names"),
        (partial(other_number, languages=GERMAN_TO_ENGLISH), "ambiguous_numbers"),
    ],
)
def test_words_that_may_not_be_names_and_ambiguous_numbers_are_not_replaced(
    replace: Callable[[TextPair, Random], TextPair | None], name: str
) -> None:
    for source, target in CASES[name]:
        assert {replace(TextPair(source, target), stream(seed, "x")) for seed in range(30)} == {None}, source


@given(
    pair=pairs,
    seed=seeds,
    languages=st.sampled_from([GERMAN_TO_ENGLISH, ENGLISH_TO_GERMAN, ENGLISH_TO_DUTCH]),
)
def test_copied_beside_adds_the_same_thing_once_on_each_side(
    pair: TextPair, seed: int, languages: Languages
) -> None:
    copy = copied_beside(pair, stream(seed, "test"), languages)
    if copy is None:
        return
    source, target = change(pair.source, copy.source), change(pair.target, copy.target)
    assert min(source.values()) > 0
    if languages == ENGLISH_TO_DUTCH:
        assert source == target
    else:  # `3 %` and `3%`, `1.234,50 €` and `€1,234.50`
        for mark in " .,":
            source.pop(mark, None)
            target.pop(mark, None)
        assert source == target


def test_copied_beside_formats_prices_for_german_and_english() -> None:
    german, english = r"Ich gehe.*[0-9] €|[0-9] €.*Ich gehe", r"I go.*€[0-9]|€[0-9].*I go"
    found = 0
    for seed in range(600):
        copies = (
            copied_beside(TextPair("Ich gehe.", "I go."), stream(seed, "x"), GERMAN_TO_ENGLISH),
            copied_beside(TextPair("I go.", "Ich gehe."), stream(seed, "x"), ENGLISH_TO_GERMAN),
        )
        assert copies[0] is not None
        assert copies[1] == TextPair(copies[0].target, copies[0].source)
        if "€" in copies[0].source:
            found += 1
            assert re.search(german, copies[0].source)
            assert re.search(english, copies[0].target)
    assert found > 10


def test_copied_beside_keeps_the_final_punctuation_mark_at_the_end() -> None:
    pair = TextPair("Ich gehe.", "I go.")
    copies = [copied_beside(pair, stream(seed, "x"), GERMAN_TO_ENGLISH) for seed in range(300)]

    assert all(copy is not None for copy in copies)
    before_it = [
        copy for copy in copies if copy is not None and re.fullmatch(r"Ich gehe[^.].*\.", copy.source)
    ]
    assert len(before_it) > 30
    assert all(re.fullmatch(r"I go[^.].*\.", copy.target) for copy in before_it)


def test_nothing_is_inserted_before_final_marks_that_differ() -> None:
    for seed in range(300):
        copy = copied_beside(TextPair("Ich gehe!", "I go."), stream(seed, "x"), GERMAN_TO_ENGLISH)
        assert copy is None or ("Ich gehe!" in copy.source and "I go." in copy.target)


@given(number=st.integers(2, 10**7), seed=seeds)
def test_other_number_writes_the_same_number_in_the_format_of_each_side(number: int, seed: int) -> None:
    german, english = f"{number:,}".replace(",", "."), f"{number:,}"
    pair = TextPair(f"Es sind {german} Leute.", f"There are {english} people.")

    copy = other_number(pair, stream(seed, "test"), GERMAN_TO_ENGLISH)

    if copy is not None:
        other = int(re.sub("[^0-9]", "", copy.source))
        assert other != number
        assert copy.source == f"Es sind {other:,} Leute".replace(",", ".") + "."
        assert copy.target == f"There are {other:,} people."


def test_replaced_days_months_and_years_stay_plausible() -> None:
    for seed in range(200):
        for old, fits in ((5, range(2, 13)), (20, range(13, 29)), (1815, range(1000, 2100))):
            copy = other_number(TextPair(f"am {old}. x", f"on {old} x"), stream(seed, "x"), GERMAN_TO_ENGLISH)
            assert copy is None or int(copy.target.split()[1]) in fits


def test_for_other_languages_only_identically_written_numbers_are_replaced() -> None:
    assert other_number(TextPair("6,7 x", "6.7 x"), stream(1, "x"), ENGLISH_TO_DUTCH) is None
    assert other_number(TextPair("67 x", "67 x"), stream(1, "x"), ENGLISH_TO_DUTCH) is not None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_things_to_copy_are_random_and_unchanged_by_normalisation(kind: str) -> None:
    made = [KINDS[kind](stream(seed, kind)) for seed in range(300)]

    assert all(thing and normalise_segment(thing) == thing for thing in made)
    least = {"empty_tag": 40, "percent_placeholder": 100, "emoji": 150}.get(kind, 200)
    assert len(set(made)) >= least


@given(seed=seeds)
def test_tags_around_a_text_do_not_change_it(seed: int) -> None:
    tagged = around("Tom", stream(seed, "test"))

    before, after = tagged.split("Tom")
    assert before
    assert after
    if before.startswith("<"):
        name = re.match("<([a-z0-9]+)", before)
        assert name is not None
        assert after == f"</{name.group(1)}>"


def test_every_kind_of_thing_is_inserted_somewhere() -> None:
    used = {maker for table in (FOR_NAMES, FOR_NUMBERS, ADJACENT) for weight, maker in table if weight}

    assert used == set(KINDS.values()) == {maker for _, maker in ALONE}


@given(pairs, seeds)
def test_quoted_sides_are_in_marks_and_otherwise_unchanged(pair: TextPair, seed: int) -> None:
    copy = quoted(pair, stream(seed, "quoted"), GERMAN_TO_ENGLISH)
    if copy is None:
        assert set(pair.source + pair.target) & set("\"'„“”»«‚‘`")
    else:
        assert (copy.source[1:-1], copy.target[1:-1]) == (pair.source, pair.target)
        assert copy.target[0] + copy.target[-1] in {'""', "“”"}


@given(pairs, seeds)
def test_a_list_mark_is_the_same_before_both_sides(pair: TextPair, seed: int) -> None:
    copy = list_mark(pair, stream(seed, "list_mark"))
    if copy is not None:
        item = copy.source.removesuffix(f" {pair.source}")
        assert copy == TextPair(f"{item} {pair.source}", f"{item} {pair.target}")
        assert not set(item) & {" "}


def test_some_long_numbers_repeat_digits_and_keep_their_length() -> None:
    pair = TextPair("Es kostet 1234567 Euro.", "It costs 1234567 euros.")
    found = [other_number(pair, stream(seed, "number"), GERMAN_TO_ENGLISH) for seed in range(200)]
    numbers = [re.findall(r"[0-9]+", copy.source) for copy in found if copy is not None]
    assert len(numbers) > 150
    assert all(len(number) == 7 for (number,) in numbers)
    assert sum(re.search(r"([0-9])\1\1", number) is not None for (number,) in numbers) > 40


@given(st.integers(0, 2000))
def test_one_or_two_words_are_repeated_equally_often_on_both_sides(seed: int) -> None:
    copy = repeated(TextPair("Na gut!", "All right!"), stream(seed, "repeated"))

    assert copy is not None
    assert 2 <= copy.source.count("Na gut") <= 20
    assert copy.source.replace("Na gut", "All right") == copy.target


def test_sentences_and_marks_alone_are_not_repeated() -> None:
    for source, target in (("Der Hund bellt.", "The dog barks."), ("...", "...")):
        assert repeated(TextPair(source, target), stream(1, "repeated")) is None
