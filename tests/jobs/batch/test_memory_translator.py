"""Entries with equal ones, with those of a memory, and through a router, in their order."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import DecodingOptions
from dragoman.errors import TranslationCancelled
from dragoman.routing.router import Router
from dragoman.translator import JOB_REQUEST
from dragoman.types import Pair
from service.batch.entry_translator import MAX_UNFINISHED_WINDOWS, RoutedEntryTranslator, UnchangedTranslator
from service.batch.errors import InputProblem
from service.batch.journal import KEY_SIZE_BYTES, entry_key
from service.batch.memory_translator import WINDOW_ENTRIES, MemoryTranslator, read_tmx, with_tmx
from service.formats.entries import Entry, entry_of
from service.memories.pairs import SegmentPair, source_digest
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object
from service.text.outcome import TextOrigin, TextOutcome
from service.translation.options import BATCH, OnFailure, TranslationOptions
from tests.jobs.batch.conftest import Run
from tests.jobs.batch.doubles import PAIR, UpperCase
from tests.jobs.batch.test_batch_command import MEMORY
from tests.service.conftest import TINY_BUNDLE

PAIRS = st.sampled_from([Pair("de", "en"), Pair("de", "fr"), Pair("d", "een"), Pair("en", "de")])
MARKS = st.lists(st.builds(Mark, st.integers(0, 2), st.sampled_from(MarkKind), st.integers(0, 2)), max_size=2)
TEXTS = st.builds(
    MarkedText,
    st.text(st.characters(), max_size=20),  # lone surrogates among them: files may have them
    MARKS.map(tuple),
)
WANTED = st.tuples(TEXTS, PAIRS)


@given(WANTED, WANTED)
def test_entries_of_any_position_have_one_key_if_and_only_if_text_marks_and_languages_are_the_same(
    one: tuple[MarkedText, Pair], other: tuple[MarkedText, Pair]
) -> None:
    keys = [
        entry_key(entry_of(marked, place), pair) for place, (marked, pair) in {"1": one, "2": other}.items()
    ]

    assert (keys[0] == keys[1]) == (one == other)
    assert {len(key) for key in keys} == {KEY_SIZE_BYTES}


KNOWN = {"ja": "yes", "nein": "no"}
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{}'


def find(texts: Sequence[str]) -> list[str | None]:
    return [KNOWN.get(text) for text in texts]


def entries(texts: Iterable[str]) -> Iterator[Entry]:
    return (Entry(text, "") for text in texts)


@given(st.lists(st.sampled_from(["ja", "nein", "warum", "wozu"]), max_size=60), st.integers(1, 9))
def test_outcomes_are_in_order_and_only_unknown_texts_are_translated(
    texts: list[str], read_ahead: int
) -> None:
    translator = UpperCase(read_ahead)

    found = list(MemoryTranslator(translator, find).translate(entries(texts)))

    assert found == [
        TextOutcome(MarkedText(KNOWN[text]), origin=TextOrigin.MEMORY)
        if text in KNOWN
        else TextOutcome(MarkedText(text.upper()))
        for text in texts
    ]
    assert translator.requested == [text for text in texts if text not in KNOWN]


def test_many_known_texts_come_one_window_at_a_time() -> None:
    taken = 0

    def counted() -> Iterator[Entry]:
        nonlocal taken
        for entry in entries(["ja"] * 10 * WINDOW_ENTRIES):
            taken += 1
            yield entry

    outcomes: Iterator[TextOutcome] = MemoryTranslator(UpperCase(), find).translate(counted())

    assert next(outcomes) == TextOutcome(MarkedText("yes"), origin=TextOrigin.MEMORY)
    assert taken == WINDOW_ENTRIES


def test_entries_with_markup_are_translated() -> None:
    marked = Entry(f"ja {OBJECT}", "", objects=(Object(3, 4, number=0),))
    found = list(MemoryTranslator(UpperCase(), lambda _: ["no"]).translate([Entry("nein", ""), marked]))
    assert found == [
        TextOutcome(MarkedText("no"), origin=TextOrigin.MEMORY),
        TextOutcome(replace(marked.marked, text=f"JA {OBJECT}")),
    ]


def test_a_tmx_file_is_read_by_digests(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(MEMORY)

    assert read_tmx(path, PAIR) == {source_digest("ja"): SegmentPair("ja", "yes")}

    path.write_text(MEMORY.replace('"en"', '"fr"'))
    with pytest.raises(InputProblem, match="no unit with segments in de and en"):
        read_tmx(path, PAIR)
    with pytest.raises(InputProblem, match=r"b\.tmx: No such file"):
        read_tmx(tmp_path / "b.tmx", PAIR)


def test_a_pair_of_a_tmx_file_with_other_numbers_is_used_from_a_threshold_on(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(MEMORY.replace(">ja<", ">Seite 5 von 10<").replace(">yes<", ">Page 5 of 10<"))
    texts = ["Seite 5 von 10", "Seite 7 von 10", "Seite 7 von zehn"]

    exact, repaired = (
        list(with_tmx(UpperCase(), path, PAIR, threshold).translate(entries(texts)))
        for threshold in (1.0, 0.75)
    )

    assert [outcome.marked.text for outcome in exact] == [
        "Page 5 of 10",
        "SEITE 7 VON 10",
        "SEITE 7 VON ZEHN",
    ]
    assert repaired == [exact[0], TextOutcome(MarkedText("Page 7 of 10")), exact[2]]


@pytest.mark.parametrize(
    ("review", "flags"), [((), ["fuzzy"]), (("--review", "mark"), ["fuzzy"]), (("--review", "off"), [])]
)
def test_a_catalogue_is_marked_unless_marks_are_off(
    run: Run, tmp_path: Path, review: tuple[str, ...], flags: list[str]
) -> None:
    entry = 'msgid "warum"\nmsgstr ""\n\nmsgid "fertig"\nmsgstr "done"\n'
    (tmp_path / "a.po").write_text(PO.format(entry))

    assert run("a.po", "-o", "b.po", *review).returncode == 0

    first, second = polib.pofile(str(tmp_path / "b.po"))
    assert (first.msgstr, first.flags) == ("WARUM", flags)
    assert (second.msgstr, second.flags) == ("done", [])


def test_a_text_that_could_not_be_translated_is_marked_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(PO.format('msgid "unusable"\nmsgstr ""\n'))

    assert run("a.po", "-o", "b.po").returncode == 1
    [entry] = polib.pofile(str(tmp_path / "b.po"))
    assert (entry.msgstr, entry.flags) == ("unusable", ["fuzzy"])

    assert run("a.po", "-o", "c.po", "--on-failure", OnFailure.EMPTY).returncode == 1
    assert (tmp_path / "c.po").read_text() == (tmp_path / "a.po").read_text()


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
    [("no branches", "check icu"), ("no Unicode", "surrogate"), ("no Unicode between marks", "surrogate")],
)
def test_an_entry_that_fails_has_a_reason(router: Router, name: str, problem: str) -> None:
    (outcome,) = RoutedEntryTranslator(router, "de", "en").translate([ENTRIES[name]])

    assert outcome.is_source
    assert problem in (outcome.problem or "")


def test_cancelling_ends_the_plan_of_a_long_entry(router: Router) -> None:
    """Before the next entry is read, and before the engine gets a text."""
    texts = iter(["Der Hund sieht {name}. " * 1_000, "ja"])
    request = replace(JOB_REQUEST, is_cancelled=lambda: True)

    with pytest.raises(TranslationCancelled):
        list(RoutedEntryTranslator(router, "de", "en", request=request).translate(entries(texts)))

    assert next(texts) == "ja"


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
