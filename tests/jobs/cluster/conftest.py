"""Files of a job, its journal, and one Ray for all tests of this folder."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from service.batch.journal import Journal
from service.batch.run import BatchJob
from service.cluster import ClusterOptions
from service.cluster.engines import NodeEngine, connect
from service.cluster.partitions import PartitionFolder
from service.cluster.run import ClusterJob
from tests.jobs.batch.doubles import FACTS, job_of, journal_in, lines_file
from tests.jobs.cluster.doubles import replace_ray

ONE_WORKER = ClusterOptions()
TWO_WORKERS = ClusterOptions(workers=2, cpus=1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job is done."""

    folder: Path
    opened: ExitStack
    """Closes its journals."""

    @property
    def target(self) -> Path:
        return self.folder / "out" / "in.txt"

    @property
    def problems(self) -> Path:
        return self.folder / "errors.jsonl"

    @property
    def partitions(self) -> PartitionFolder:
        return PartitionFolder(self.folder / "partitions")

    def job(self, lines: Sequence[str], facts: Mapping[str, str] = FACTS) -> BatchJob:
        return replace(job_of(self.folder, lines_file(self.folder, "in.txt", lines)), facts=facts)

    def cluster_job(self, job: BatchJob, engine: NodeEngine, partition_entries: int = 8) -> ClusterJob:
        return ClusterJob(job, engine, self.partitions, TWO_WORKERS, partition_entries)

    def journal(self) -> Journal:
        return self.opened.enter_context(journal_in(self.folder))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        yield Place(tmp_path, opened)


@pytest.fixture(scope="module")
def two_cpus() -> Iterator[None]:
    """A Ray of this machine's own, which takes seconds to begin."""
    with connect(TWO_WORKERS):
        yield


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_ray(monkeypatch)
