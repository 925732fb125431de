"""Entries that a translation memory has, and those that a translator gets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.batch.errors import InputProblem
from service.batch.memory_translator import WINDOW_ENTRIES, MemoryTranslator, read_tmx
from service.batch.run import run_job
from service.formats.entries import Entry
from service.formats.review_marks import ReviewMarks
from service.memories.pairs import SegmentPair, source_digest
from service.text.marked_text import OBJECT, MarkedText, Object
from service.text.outcome import TextOrigin, TextOutcome
from service.translation.options import OnFailure
from tests.batch.conftest import Run
from tests.batch.doubles import PAIR, UpperCase, job_of, journal_in, lines_file

KNOWN = {"ja": "yes", "nein": "no"}
TMX = """<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>ja</seg></tuv>
<tuv xml:lang="en"><seg>yes</seg></tuv></tu></body></tmx>"""
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{}'


def find(texts: Sequence[str]) -> list[str | None]:
    return [KNOWN.get(text) for text in texts]


def entries(texts: Iterable[str]) -> Iterator[Entry]:
    return (Entry(text, "") for text in texts)


@given(
    st.lists(st.sampled_from(["ja", "nein", "warum", "wozu"]), max_size=60),
    st.integers(1, 9),
)
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
    path.write_text(TMX)

    assert read_tmx(path, PAIR) == {source_digest("ja"): SegmentPair("ja", "yes")}

    path.write_text(TMX.replace('"en"', '"fr"'))
    with pytest.raises(InputProblem, match="no unit with segments in de and en"):
        read_tmx(path, PAIR)
    with pytest.raises(InputProblem, match=r"b\.tmx: No such file"):
        read_tmx(tmp_path / "b.tmx", PAIR)


def test_another_mark_is_another_job(tmp_path: Path) -> None:
    job = job_of(tmp_path, lines_file(tmp_path, "a.txt", ["ja"]))
    assert job.options.review is ReviewMarks.MARK
    with journal_in(tmp_path) as journal:
        run_job(job, UpperCase(), journal)
        assert journal.facts()["review marks"] == "mark"


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


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--memory", "missing.tmx"), "missing.tmx: No such file"),
        (("--memory", "a.txt"), "not well-formed"),
        (("--memory", "m.tmx", "--engine", "ray"), "cannot be combined with --engine ray"),
    ],
)
def test_a_memory_that_cannot_be_used_rejects_the_command(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "m.tmx").write_text(TMX)
    (tmp_path / "a.txt").write_text("ja\n")

    finished = run("a.txt", "-o", "b.txt", *arguments)

    assert finished.returncode == 2
    assert problem in " ".join(finished.stderr.split())
    assert not (tmp_path / "b.txt").exists()


def test_a_memory_fills_in_texts_of_any_format(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.tmx").write_text(TMX)
    (tmp_path / "a.txt").write_text("ja\nwarum\n")

    assert run("a.txt", "-o", "b.txt", "--memory", "m.tmx").returncode == 0
    assert (tmp_path / "b.txt").read_text() == "yes\nWARUM\n"
