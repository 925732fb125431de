"""Each distinct entry that the journal lacks is in one partition, whose file is whole or not there."""

from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Pair
from service.batch.errors import JobCancelled, OutputFailed, PartitionDamaged
from service.batch.journal import entry_key
from service.batch.occurrences import OccurrenceCounts
from service.batch.run import begin
from service.cluster.partitions import (
    PartitionFolder,
    Planner,
    read_outcomes,
    read_partition,
    write_outcomes,
    write_partition,
)
from service.cluster.run import choose_size
from service.formats.entries import Entry, entry_of
from service.text.marked_text import Mark, MarkedText, MarkKind, Object, Shown
from service.text.outcome import TextOrigin, TextOutcome
from tests.jobs.batch.doubles import PAIR
from tests.jobs.cluster.conftest import Place

SIMPLIFIED = Pair("de", "zh-Hans")
any_text = st.text(st.characters(), max_size=12)
"""Lone surrogates too, which UTF-8 has not."""
marks = st.lists(st.builds(Mark, st.integers(0, 9), st.sampled_from(MarkKind), st.integers(0, 9)), max_size=3)
objects = st.lists(
    st.builds(Object, st.integers(0, 9), st.integers(0, 9), st.sampled_from(Shown), st.integers(0, 9)),
    max_size=3,
)
texts = st.builds(MarkedText, any_text, marks.map(tuple), objects.map(tuple))
entries = st.builds(
    lambda marked, is_message: entry_of(marked, "", is_message=is_message), texts, st.booleans()
)
outcomes = st.builds(
    TextOutcome, texts, is_cut=st.booleans(), rejection=st.none() | st.text("ab")
) | st.builds(
    TextOutcome, texts, origin=st.just(TextOrigin.SOURCE), rejection=st.text(st.characters(codec="utf-8"))
)
keys = st.binary(min_size=16, max_size=16)


@given(st.dictionaries(keys, entries, min_size=1))
def test_entries_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, given_: dict[bytes, Entry]
) -> None:
    read = read_partition(write_partition(tmp_path_factory.mktemp("entries"), 7, SIMPLIFIED, given_))

    assert read.pair == SIMPLIFIED
    assert dict(zip(read.keys, read.entries, strict=True)) == given_


@given(st.dictionaries(keys, outcomes, min_size=1))
def test_outcomes_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, given_: dict[bytes, TextOutcome]
) -> None:
    folder = tmp_path_factory.mktemp("outcomes")

    assert read_outcomes(write_outcomes(folder, "1", list(given_), list(given_.values()))) == given_


def test_any_changed_byte_is_detected(tmp_path: Path) -> None:
    path = write_outcomes(tmp_path, "1", [b"k" * 16], [TextOutcome(MarkedText("abc"))])
    content = path.read_bytes()

    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(PartitionDamaged, match=path.name):
            read_outcomes(path)
    path.write_bytes(content[:-1])
    with pytest.raises(PartitionDamaged):
        read_outcomes(path)


def test_a_failed_write_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    with pytest.raises(OutputFailed, match="No space left on device"):
        write_outcomes(tmp_path, "1", [b"k"], [TextOutcome(MarkedText("abc"))])
    assert list(tmp_path.iterdir()) == []


def test_whole_outcomes_of_a_run_before_outlive_preparing_and_entries_do_not(tmp_path: Path) -> None:
    folder = PartitionFolder(tmp_path / "job")
    folder.prepare()
    (folder.outcomes_path / "x.partial").write_bytes(b"begun")
    kept = write_outcomes(folder.outcomes_path, "1", [b"k"], [TextOutcome(MarkedText("abc"))])
    write_partition(folder.entries_path, 1, SIMPLIFIED, {b"k": Entry("a", "")})

    folder.prepare()

    assert list(folder.finished()) == [kept]
    assert list(folder.entries_path.iterdir()) == []


def test_a_run_that_is_stopped_leaves_outcomes_and_nothing_else(tmp_path: Path) -> None:
    folder = PartitionFolder(tmp_path / "out.partitions")
    folder.prepare()
    write_partition(folder.entries_path, 1, SIMPLIFIED, {b"1" * 16: Entry("eins", "")})
    path = write_outcomes(folder.outcomes_path, "1", [b"1" * 16], [TextOutcome(MarkedText("one"))])

    folder.leave()
    assert [each for each in folder.path.rglob("*") if each.is_file()] == [path]

    path.unlink()
    folder.leave()
    assert not folder.path.exists()


def _key(line: str) -> bytes:
    return entry_key(Entry(line, ""), PAIR)


def test_each_distinct_entry_that_the_journal_lacks_is_in_one_partition(place: Place) -> None:
    lines = [f"line {number % 300}" for number in range(900)] + ["failed", "failed"]
    job, journal = place.job(lines), place.journal()
    begin(job, journal, Event())
    journal.commit(
        {
            _key("line 7"): TextOutcome(MarkedText("x")),
            _key("failed"): TextOutcome(MarkedText(""), origin=TextOrigin.SOURCE, rejection="why"),
        }
    )
    place.partitions.prepare()

    with closing(OccurrenceCounts()) as occurrences:
        plan = Planner(journal, occurrences, place.partitions.entries_path, 50, Event())
        plan.run(job.files)
        partitions = [read_partition(path) for path in plan.partitions]

        assert [occurrences.of(_key(line)) for line in ("line 8", "line 7")] == [3, 0]
    planned = [entry.text for partition in partitions for entry in partition.entries]
    assert planned == [f"line {number}" for number in range(300) if number != 7]
    assert all(len(partition.keys) <= 50 for partition in partitions)
    assert [key for partition in partitions for key in partition.keys] == [_key(text) for text in planned]
    assert (plan.num_done, plan.num_failed) == (5, 2)


def test_planning_ends_when_it_is_stopped(place: Place) -> None:
    job, journal = place.job(["a"]), place.journal()
    place.partitions.prepare()
    stop = Event()
    stop.set()

    with closing(OccurrenceCounts()) as occurrences, pytest.raises(JobCancelled):
        Planner(journal, occurrences, place.partitions.entries_path, 50, stop).run(job.files)


@pytest.mark.parametrize(
    ("num_entries", "workers", "size"),
    [(0, 1, 64), (10, 4, 64), (2_000, 2, 125), (1_000_000, 2, 1024), (100_000, 100, 125)],
)
def test_small_jobs_have_small_partitions_so_that_every_engine_has_some(
    num_entries: int, workers: int, size: int
) -> None:
    assert choose_size(num_entries, workers) == size
