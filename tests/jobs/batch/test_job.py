"""A whole job, with a double for what translates."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.types import Pair
from service.batch.errors import InputChanged, InputProblem, JobCancelled, JournalDamaged, OtherJob
from service.batch.journal import Journal, entry_key
from service.batch.pending_entries import ChunkLimits, PendingEntriesPass
from service.batch.progress import BatchProgress, BatchReport
from service.batch.run import BatchJob, reports_failures, run_job
from service.formats.entries import Entry
from service.formats.review_marks import ReviewMarks
from service.text.outcome import TextOutcome
from service.translation.options import OnFailure, TranslationOptions
from tests.jobs.batch.doubles import PAIR, UpperCase, job_of, journal_in, lines_file

LINES = [f"satz {number}" for number in range(100)]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with journal_in(tmp_path) as opened:
        yield opened


@pytest.fixture
def job(tmp_path: Path) -> BatchJob:
    return job_of(tmp_path, lines_file(tmp_path, "a.txt", LINES))


def translating(on_outcome: Callable[[int], object]) -> UpperCase:
    """A translator that does something before each outcome of its number."""
    translator = UpperCase()
    translator.on_outcome = on_outcome
    return translator


def written(job: BatchJob, item: int = 0) -> list[str]:
    return job.files[item].target.read_text().splitlines()


def problems(job: BatchJob) -> list[dict[str, str]]:
    return [json.loads(line) for line in job.problems_path.read_text().splitlines()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.sampled_from([*"abcdefg", "unusable", "cut"]), max_size=60),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_each_distinct_line_is_translated_once_and_keeps_its_position(
    tmp_path: Path, lines: list[str], read_ahead: int, chunk_entries: int
) -> None:
    job = job_of(tmp_path, lines_file(tmp_path, "a.txt", lines), chunk_entries=chunk_entries)
    job.problems_path.write_text("of a run before")
    translator = UpperCase(read_ahead)

    with journal_in(tmp_path) as journal:
        journal.forget()
        report = run_job(job, translator, journal)

    assert written(job) == [line if line == "unusable" else line.upper() for line in lines]
    assert translator.requested == list(dict.fromkeys(lines))
    failed, cut = lines.count("unusable"), lines.count("cut")
    failed_characters = failed * len("unusable")
    assert report == BatchReport(
        len(lines), failed, cut, len(set(lines)), failed_characters=failed_characters
    )
    assert job.problems_path.exists() == bool(failed or cut)
    assert reports_failures(job.problems_path) == bool(failed)


def test_duplicates_are_translated_once_across_files(tmp_path: Path, journal: Journal) -> None:
    files = [lines_file(tmp_path, name, ["eins", "zwei", "eins"]) for name in ("a.txt", "b.txt")]
    translator = UpperCase()

    run_job(job_of(tmp_path, *files), translator, journal)

    assert translator.requested == ["eins", "zwei"]
    assert [path.read_text() for path in (tmp_path / "out").iterdir()] == ["EINS\nZWEI\nEINS\n"] * 2


def test_files_of_several_languages_do_not_share_translations(tmp_path: Path, journal: Journal) -> None:
    files = [lines_file(tmp_path, f"{pair.source}.txt", ["rot"], pair) for pair in (PAIR, Pair("nl", "en"))]
    translators = {file.pair: UpperCase() for file in files}

    run_job(job_of(tmp_path, *files), translators.__getitem__, journal)

    assert [translator.requested for translator in translators.values()] == [["rot"], ["rot"]]


def test_a_failed_entry_keeps_its_position_and_is_reported(tmp_path: Path, journal: Journal) -> None:
    job = job_of(tmp_path, lines_file(tmp_path, "a.txt", ["eins", "unusable", "zwei", "cut", "unusable"]))

    report = run_job(job, UpperCase(), journal)

    assert written(job) == ["EINS", "unusable", "ZWEI", "CUT", "unusable"]
    assert (report.num_failed, report.num_cut) == (2, 1)
    failed = {"file": "a.txt", "outcome": "untranslated", "problem": "is not usable", "text": "unusable"}
    seen = problems(job)
    assert seen[::2] == [{**failed, "place": "line 2"}, {**failed, "place": "line 5"}]
    assert seen[1].items() >= {"file": "a.txt", "outcome": "cut", "place": "line 4", "text": "cut"}.items()


def run_until(job: BatchJob, journal: Journal, outcomes: int) -> None:
    """Run a job until a number of outcomes, or until it is done."""
    stop = threading.Event()
    translator = translating(lambda number: stop.set() if number == outcomes else None)
    run_job(job, translator, journal, stop=stop)


def stop_after(job: BatchJob, journal: Journal, outcomes: int) -> None:
    with pytest.raises(JobCancelled):
        run_until(job, journal, outcomes)


def test_a_stopped_job_keeps_what_was_translated_and_asks_for_the_rest_alone(
    job: BatchJob, journal: Journal
) -> None:
    target = job.files[0].target
    target.parent.mkdir()
    target.write_text("before")
    stop_after(job, journal, 50)
    assert target.read_text() == "before"
    assert journal.num_outcomes() == 50  # that of a chunk that was not full, too

    second = UpperCase()
    run_job(job, second, journal)

    assert second.requested == LINES[50:]
    assert written(job) == [line.upper() for line in LINES]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.sampled_from(["a", "bb", "ccc", "unusable", "dddd", "eeeee"]), min_size=1, max_size=40),
    st.lists(st.integers(1, 9), max_size=3),
)
def test_the_journal_has_the_number_of_translated_characters_however_often_the_job_stops(
    tmp_path: Path, lines: list[str], stops: list[int]
) -> None:
    job = job_of(tmp_path, lines_file(tmp_path, "a.txt", lines), chunk_entries=2)
    keys = {line: entry_key(Entry(line, ""), PAIR) for line in lines}

    with journal_in(tmp_path) as journal:
        journal.forget()
        counts = [0]
        for outcomes in stops:
            with suppress(JobCancelled):
                run_until(job, journal, outcomes)
            kept = journal.outcomes(list(keys.values()))
            translated = [line for line in lines if keys[line] in kept and line != "unusable"]
            counts.append(journal.num_characters())
            assert sum(map(len, set(translated))) <= counts[-1] <= sum(map(len, translated))
        run_job(job, UpperCase(), journal)

        assert counts == sorted(counts)
        assert journal.num_characters() == sum(len(line) for line in lines if line != "unusable")


def test_a_translator_that_fails_loses_nothing_of_what_it_did(job: BatchJob, journal: Journal) -> None:
    failing = translating(lambda number: 1 / (31 - number))

    with pytest.raises(ZeroDivisionError):
        run_job(job, failing, journal)

    assert journal.num_outcomes() == 30


def test_chunks_are_kept_as_they_fill_and_as_time_passes(tmp_path: Path, journal: Journal) -> None:
    file = lines_file(tmp_path, "a.txt", LINES)
    now_s = 0.0
    kept: list[int] = []

    def tick(number: int) -> None:
        nonlocal now_s
        kept.append(journal.num_outcomes())
        now_s += 10.0 if number == 6 else 0.0

    translator = UpperCase(1)
    translator.on_outcome = tick
    pending = PendingEntriesPass(
        journal,
        len(LINES),
        chunks=ChunkLimits(entries=10, seconds=5.0),
        on_progress=lambda _: None,
        stop=threading.Event(),
        monotonic=lambda: now_s,
    )
    pending.run([file], PAIR, translator)

    assert kept[:18] == [0] * 6 + [6] * 10 + [16] * 2
    assert journal.num_outcomes() == 100


def test_progress_ends_with_all_entries(tmp_path: Path, journal: Journal) -> None:
    lines = ["eins", "unusable", *["zwei"] * 50, "unusable"]
    seen: list[BatchProgress] = []

    run_job(
        job_of(tmp_path, lines_file(tmp_path, "a.txt", lines)), UpperCase(), journal, on_progress=seen.append
    )

    assert seen[-1] == BatchProgress(53, 53, 2, 3)
    assert [progress.num_done for progress in seen] == sorted(progress.num_done for progress in seen)


def test_memory_does_not_grow_with_the_entries(tmp_path: Path, journal: Journal) -> None:
    """How many entries are alive at once, of those that a file gives."""
    alive, most = 0, 0

    class EntryCounts(str):
        __slots__ = ()

        def __new__(cls, text: str) -> Self:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, text)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    class Numbers:
        def read(self, source: object) -> Iterator[Entry]:
            del source
            return (Entry(EntryCounts(f"satz {number}"), "") for number in range(20_000))

        def write(self, source: object, texts: Iterator[object], target: object) -> None:
            del source, target
            for _ in texts:
                pass

    file = lines_file(tmp_path, "a.txt", [])
    counted = type(file)(file.name, file.source, file.target, Numbers(), file.pair)

    class Forgetful(UpperCase):
        def _outcome(self, number: int, entry: Entry) -> TextOutcome:
            self.requested.clear()
            return super()._outcome(number, entry)

    run_job(job_of(tmp_path, counted, chunk_entries=256), Forgetful(8), journal)

    assert 256 <= most < 2000


def test_an_input_that_changed_before_a_job_goes_on_stops_it(job: BatchJob, journal: Journal) -> None:
    stop_after(job, journal, 20)
    job.files[0].source.write_text(job.files[0].source.read_text().replace("satz 99", "satz 9x"))

    with pytest.raises(OtherJob, match=r"file a\.txt was"):
        run_job(job, UpperCase(), journal)

    assert not job.files[0].target.exists()


@pytest.mark.parametrize(
    ("at", "lines"),
    # Nothing that has no translation yet, but for the last: only the file's content tells of it.
    [(10, [*LINES[1:], LINES[0]]), (100, [*LINES[1:], LINES[0]]), (100, [*LINES, "one more"])],
)
def test_an_input_that_changes_while_it_is_read_stops_the_job(
    job: BatchJob, journal: Journal, at: int, lines: list[str]
) -> None:
    changed = "".join(f"{line}\n" for line in lines)
    source, target = job.files[0].source, job.files[0].target

    with pytest.raises(InputChanged, match=r"a\.txt"):
        run_job(
            job, translating(lambda number: source.write_text(changed) if number == at else None), journal
        )

    assert list(target.parent.iterdir()) == []


EMPTY = TranslationOptions(on_failure=OnFailure.EMPTY)
UNMARKED = TranslationOptions(review=ReviewMarks.OFF)


def test_other_facts_stop_a_job_that_goes_on(tmp_path: Path, job: BatchJob, journal: Journal) -> None:
    stop_after(job, journal, 20)
    more = (*job.files, lines_file(tmp_path, "b.txt", ["eins"]))
    another = {"bundles of de -> en": "another"}

    for other, difference in (
        (replace(job, facts=another), "bundles of de -> en was double and is another"),
        (replace(job, options=EMPTY), "what stands for entries that fail was source and is empty"),
        (replace(job, options=UNMARKED), "review marks was mark and is off"),
        (replace(job, files=more), "number of files"),
    ):
        with pytest.raises(OtherJob, match=difference):
            run_job(other, UpperCase(), journal)


def test_a_damaged_journal_stops_a_job_that_goes_on(job: BatchJob, journal: Journal) -> None:
    stop_after(job, journal, 20)
    with journal.store.writing() as connection:
        connection.exec_driver_sql("UPDATE translations SET text = x'78' WHERE rowid = 7")

    with pytest.raises(JournalDamaged):
        run_job(job, UpperCase(), journal)

    assert not job.files[0].target.exists()


def test_all_files_that_cannot_be_read_are_named_before_anything_is_translated(
    tmp_path: Path, journal: Journal
) -> None:
    files = [lines_file(tmp_path, name, ["eins"]) for name in ("a.txt", "b.txt", "c.txt")]
    files[0].source.write_bytes(b"eins\n\x81\n")
    files[2].source.unlink()
    translator = UpperCase()

    with pytest.raises(InputProblem) as seen:
        run_job(job_of(tmp_path, *files), translator, journal)

    assert [name for name, _ in seen.value.problems] == ["a.txt", "c.txt"]
    assert "line 2 is not UTF-8" in str(seen.value)
    assert translator.requested == []
