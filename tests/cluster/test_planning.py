"""What goes to a cluster: each distinct entry that the journal lacks, once."""

from threading import Event

import pytest

from service.batch.errors import JobCancelled
from service.batch.journal import entry_key
from service.batch.run import begin
from service.batch.texts import TranslatedEntry, UntranslatedEntry
from service.cluster.partitions import OccurrenceCounts, Planner, read_partition
from service.cluster.run import choose_size
from service.formats.entries import Entry
from tests.cluster.conftest import PAIR, Place


def _key(line: str) -> bytes:
    return entry_key(Entry(line, ""), PAIR)


def test_each_distinct_entry_that_the_journal_lacks_is_in_one_partition(place: Place) -> None:
    lines = [f"line {number % 300}" for number in range(900)] + ["failed", "failed"]
    job, journal = place.job(lines), place.journal()
    begin(job, journal, Event())
    journal.commit({_key("line 7"): TranslatedEntry("x"), _key("failed"): UntranslatedEntry("why")})
    place.partitions.prepare()

    with OccurrenceCounts() as occurrences:
        plan = Planner(journal, occurrences, place.partitions.entries_path, 50, Event()).run(job.files)
        partitions = [read_partition(path) for path in plan.partitions]

        assert [occurrences.of(_key(line)) for line in ("line 8", "line 7")] == [3, 0]
    planned = [entry.text for partition in partitions for entry in partition.entries]
    assert planned == [f"line {number}" for number in range(300) if number != 7]
    assert all(len(partition.keys) <= 50 for partition in partitions)
    assert [key for partition in partitions for key in partition.keys] == [_key(text) for text in planned]
    assert (plan.num_done, plan.num_failed) == (5, 2)


def test_planning_heeds_a_stop(place: Place) -> None:
    job, journal = place.job(["a"]), place.journal()
    place.partitions.prepare()
    stop = Event()
    stop.set()

    with OccurrenceCounts() as occurrences, pytest.raises(JobCancelled):
        Planner(journal, occurrences, place.partitions.entries_path, 50, stop).run(job.files)


@pytest.mark.parametrize(
    ("num_entries", "workers", "size"),
    [(0, 1, 64), (10, 4, 64), (2_000, 2, 125), (1_000_000, 2, 1024), (100_000, 100, 125)],
)
def test_small_jobs_have_small_partitions_so_that_every_engine_has_some(
    num_entries: int, workers: int, size: int
) -> None:
    assert choose_size(num_entries, workers) == size
