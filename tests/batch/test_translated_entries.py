"""Entries through a router, plain and marked up, in their order."""

import operator
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.routing.router import Router
from service.batch.entry_translator import BATCH, RoutedEntryTranslator, UnchangedTranslator
from service.batch.texts import TranslatedEntry, UntranslatedEntry
from service.formats.entries import Entry
from service.markup.options import MarkupLanguage, MarkupOptions
from tests.service.conftest import TINY_BUNDLE

XML = MarkupOptions(MarkupLanguage.XML)
HTML = MarkupOptions(MarkupLanguage.HTML)


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with Router.open({"tiny": TINY_BUNDLE}) as opened:
        yield opened


def alone(router: Router, text: str) -> str:
    return router.translate(text, "de", "en", BATCH).translation.text


ENTRIES = {
    "plain": Entry("Ich habe ein Haus.", "1"),
    "other": Entry("Guten Morgen!", "1"),
    "marked": Entry("Ich habe <b>ein</b> Haus.", "1", XML),
    "blocks": Entry("<p>Guten Morgen!</p><p>Ich habe ein Haus.</p>", "1", HTML),
    "no text": Entry("<br/>", "1", XML),
    "empty": Entry("", "1"),
    "not well-formed": Entry("<b>Haus", "1", XML),
    "no Unicode": Entry("\ud800", "1"),
    "no Unicode in markup": Entry("<p>Haus</p><p>\ud800</p>", "1", HTML),
}


@settings(max_examples=25)
@given(st.lists(st.sampled_from(list(ENTRIES)), max_size=30), st.integers(1, 12))
def test_entries_are_translated_independently(router: Router, names: list[str], read_ahead: int) -> None:
    translator = RoutedEntryTranslator(router, "de", "en", read_ahead=read_ahead)
    by_itself = {name: list(translator.translate([ENTRIES[name]])) for name in set(names)}

    outcomes = list(translator.translate(ENTRIES[name] for name in names))

    assert outcomes == [outcome for name in names for outcome in by_itself[name]]
    assert len(outcomes) == len(names)


def test_plain_text_is_translated_as_without_markup_which_is_restored_around_its_text(
    router: Router,
) -> None:
    greeting, house = alone(router, "Guten Morgen!"), alone(router, "Ich habe ein Haus.")
    entries = [ENTRIES[name] for name in ("marked", "plain", "blocks")]

    assert list(RoutedEntryTranslator(router, "de", "en").translate(entries))[1:] == [
        TranslatedEntry(house),
        TranslatedEntry(f"<p>{greeting}</p><p>{house}</p>"),
    ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("not well-formed", "not well-formed XML"),
        ("no Unicode", "surrogate"),
        ("no Unicode in markup", "surrogate"),
    ],
)
def test_an_entry_that_fails_has_a_reason(router: Router, name: str, problem: str) -> None:
    (outcome,) = RoutedEntryTranslator(router, "de", "en").translate([ENTRIES[name]])

    assert isinstance(outcome, UntranslatedEntry)
    assert problem in outcome.problem


def test_a_translation_that_reached_its_limit_is_marked_as_truncated(router: Router) -> None:
    short = RoutedEntryTranslator(router, "de", "en", replace(BATCH, max_length=1))

    (outcome,) = short.translate([ENTRIES["plain"]])

    assert isinstance(outcome, TranslatedEntry)
    assert outcome.is_cut


def test_entries_are_read_only_as_they_are_translated(router: Router) -> None:
    entries = iter([Entry(f"Ich habe {number} Haus.", "1") for number in range(100)])

    outcomes = RoutedEntryTranslator(router, "de", "en", read_ahead=4).translate(entries)
    next(outcomes)
    num_read = 100 - operator.length_hint(entries)

    assert num_read <= 4 * 4
    assert len(list(outcomes)) == 99


def test_entries_in_the_target_language_are_unchanged() -> None:
    entries = [*ENTRIES.values()]

    assert list(UnchangedTranslator().translate(entries)) == [
        TranslatedEntry(entry.text) for entry in entries
    ]
