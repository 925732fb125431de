"""Entries through a router, plain and marked up, in their order."""

import operator
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import DecodingOptions
from dragoman.routing.router import Router
from service.batch.entry_translator import MAX_UNFINISHED_WINDOWS, RoutedEntryTranslator, UnchangedTranslator
from service.formats.entries import Entry, entry_of
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object
from service.text.outcome import TextOutcome
from service.translation.options import BATCH, TranslationOptions
from tests.service.conftest import TINY_BUNDLE

MARKED = MarkedText("Ich habe ein Haus.", (Mark(9, MarkKind.OPEN, 0, 1), Mark(12, MarkKind.CLOSE, 1, 0)))
OBJECTS = MarkedText(f"{OBJECT} Haus {OBJECT}", (), (Object(0, 1, number=0), Object(7, 8, number=1)))


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with Router.open({"tiny": TINY_BUNDLE}) as opened:
        yield opened


def alone(router: Router, text: str) -> str:
    return router.translate(text, "de", "en", BATCH.decoding).translation.text


ENTRIES = {
    "plain": Entry("Ich habe ein Haus.", "1"),
    "other": Entry("Guten Morgen!", "1"),
    "marked": entry_of(MARKED, "1"),
    "objects": entry_of(OBJECTS, "1"),
    "message": Entry("Datei %s öffnen", "1", is_message=True),
    "number": Entry("Das Haus kostet 2643333 Euro.", "1"),
    "branches": Entry("{n, plural, one {ein Haus} other {# Häuser}}", "1", is_message=True),
    "no branches": Entry("{n, plural, one {ein Haus}", "1", is_message=True),
    "empty": Entry("", "1"),
    "no Unicode": Entry("\ud800", "1"),
    "no Unicode between marks": Entry("Haus \ud800", "1", marks=(Mark(2, MarkKind.POINT, 0),)),
}


@settings(max_examples=25)
@given(st.lists(st.sampled_from(list(ENTRIES)), max_size=30), st.integers(1, 12))
def test_entries_are_translated_independently(router: Router, names: list[str], read_ahead: int) -> None:
    translator = RoutedEntryTranslator(router, "de", "en", read_ahead=read_ahead)
    by_itself = {name: list(translator.translate([ENTRIES[name]])) for name in set(names)}

    outcomes = list(translator.translate(ENTRIES[name] for name in names))

    assert outcomes == [outcome for name in names for outcome in by_itself[name]]
    assert len(outcomes) == len(names)


def test_words_are_translated_as_without_marks_and_marks_are_placed(router: Router) -> None:
    house = alone(router, "Ich habe ein Haus.")

    [outcome] = RoutedEntryTranslator(router, "de", "en").translate([ENTRIES["marked"]])

    assert not outcome.is_source
    assert outcome.marked.text == house
    assert sorted(mark.number for mark in outcome.marked.marks) == [0, 1]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no branches", "check icu"),
        ("no Unicode", "surrogate"),
        ("no Unicode between marks", "surrogate"),
    ],
)
def test_an_entry_that_fails_has_a_reason(router: Router, name: str, problem: str) -> None:
    (outcome,) = RoutedEntryTranslator(router, "de", "en").translate([ENTRIES[name]])

    assert outcome.is_source
    assert problem in (outcome.problem or "")


def test_a_translation_that_reached_its_limit_is_marked_as_truncated(router: Router) -> None:
    short = RoutedEntryTranslator(router, "de", "en", TranslationOptions(DecodingOptions(max_length=1)))

    (outcome,) = short.translate([ENTRIES["plain"]])

    assert not outcome.is_source
    assert outcome.is_cut


def test_entries_are_read_only_as_they_are_translated(router: Router) -> None:
    entries = iter([Entry(f"Ich habe {number} Haus.", "1") for number in range(100)])

    outcomes = RoutedEntryTranslator(router, "de", "en", read_ahead=4).translate(entries)
    next(outcomes)
    num_read = 100 - operator.length_hint(entries)

    assert num_read <= (MAX_UNFINISHED_WINDOWS + 2) * 4
    assert len(list(outcomes)) == 99


def test_entries_in_the_target_language_are_unchanged() -> None:
    entries = [*ENTRIES.values()]

    assert list(UnchangedTranslator().translate(entries)) == [TextOutcome(entry.marked) for entry in entries]
