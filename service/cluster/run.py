"""A whole batch job, as in `service.batch.run`, with a cluster that translates the pending entries.

The driver surveys and writes the files, exactly as in a run without a cluster. In between, entries missing
from the journal go to the cluster in partitions. The outcomes of a partition are first a file, which survives
if this process is killed, and then part of the journal.
"""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from service.batch.errors import PartitionDamaged
from service.batch.journal import Journal
from service.batch.occurrences import OccurrenceCounts
from service.batch.progress import BatchProgress, BatchReport, OnProgress
from service.batch.run import BatchJob, begin, finish
from service.cluster import ClusterOptions
from service.cluster.engines import NodeEngine, connect, translate_partitions
from service.cluster.partitions import PartitionFolder, Planner, read_outcomes

MAX_PARTITION_ENTRIES = 1024
"""Maximum entries of a partition: enough that engines seldom run empty, so few that a kill costs seconds."""
MIN_PARTITION_ENTRIES = 64
PARTITIONS_PER_ENGINE = 8
"""Partitions per engine, if there are enough entries: no engine is idle for long while others finish."""


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A batch job, and the cluster and engines that run it."""

    job: BatchJob
    engine: NodeEngine
    folder: PartitionFolder
    """Folder that all nodes see under the same path, for nothing else. It is removed when the job is done."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    partition_entries: int | None = None
    """Maximum size of a partition, in entries; None to derive it from the number of entries and engines."""


def run_on_ray(
    cluster_job: ClusterJob,
    journal: Journal,
    *,
    on_progress: OnProgress = lambda _: None,
    stop: Event | None = None,
) -> BatchReport:
    """Run a job, or resume it where an earlier run stopped, with or without a cluster.

    Args:
        cluster_job: the job.
        journal: journal of this job; nobody else may write to it meanwhile.
        on_progress: called whenever a partition is finished.
        stop: set by another thread or a signal handler to end the job soon.

    Raises:
        BatchRejected: as in `run_job`, or Ray is not installed, or nodes have another engine.
        BatchStopped: the same call resumes the job.
    """
    stop = stop or Event()
    if not journal.facts():
        cluster_job.folder.remove()  # left by another job
    surveys = begin(cluster_job.job, journal, stop)
    num_entries = sum(survey.num_entries for survey in surveys)
    try:
        num_translated = _translate_pending(cluster_job, journal, num_entries, on_progress, stop)
    except BaseException:
        cluster_job.folder.leave()
        raise
    cluster_job.folder.remove()
    return finish(cluster_job.job, surveys, journal, num_translated=num_translated, stop=stop)


def choose_size(num_entries: int, workers: int) -> int:
    """Return the number of entries per partition."""
    return min(
        MAX_PARTITION_ENTRIES, max(MIN_PARTITION_ENTRIES, num_entries // (workers * PARTITIONS_PER_ENGINE))
    )


def _translate_pending(
    cluster_job: ClusterJob, journal: Journal, num_entries: int, on_progress: OnProgress, stop: Event
) -> int:
    """Translate the pending entries, and return the number of distinct ones."""
    cluster_job.folder.prepare()
    _merge_finished(cluster_job.folder, journal)
    with closing(OccurrenceCounts()) as occurrences:
        size = cluster_job.partition_entries or choose_size(num_entries, cluster_job.cluster.workers)
        planner = Planner(journal, occurrences, cluster_job.folder.entries_path, size, stop)
        planner.run(cluster_job.job.files)
        merging = _OutcomeMerger(
            journal, occurrences, on_progress, num_entries, planner.num_done, planner.num_failed
        )
        if planner.partitions:
            _translate(cluster_job, planner.partitions, merging, stop)
    return merging.num_translated


def _translate(
    cluster_job: ClusterJob, partitions: Sequence[Path], merging: "_OutcomeMerger", stop: Event
) -> None:
    with connect(cluster_job.cluster):
        results = translate_partitions(
            partitions, cluster_job.engine, cluster_job.folder.outcomes_path, cluster_job.cluster, stop
        )
        with closing(results):
            for path in results:
                merging.merge(path)


def _merge_finished(folder: PartitionFolder, journal: Journal) -> None:
    """Commit to the journal what an earlier run finished but did not merge."""
    for path in folder.finished():
        with suppress(PartitionDamaged):  # its entries will be planned again
            journal.commit(read_outcomes(path))
        path.unlink()


@dataclass(slots=True)
class _OutcomeMerger:
    """Commits finished partitions to the journal and reports progress."""

    journal: Journal
    occurrences: OccurrenceCounts
    on_progress: OnProgress
    num_entries: int
    num_done: int
    num_failed: int
    num_translated: int = 0
    """Distinct entries translated in this run."""

    def __post_init__(self) -> None:
        self._report()

    def merge(self, path: Path) -> None:
        outcomes = read_outcomes(path)
        self.journal.commit(outcomes)
        path.unlink()
        self.num_translated += len(outcomes)
        for key, outcome in outcomes.items():
            times = self.occurrences.of(key)
            self.num_done += times
            self.num_failed += times if outcome.is_source else 0
        self._report()

    def _report(self) -> None:
        progress = BatchProgress(self.num_entries, self.num_done, self.num_failed, self.num_translated)
        self.on_progress(progress)
