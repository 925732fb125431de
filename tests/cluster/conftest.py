"""Files of a job, its journal, and one Ray for all tests of this folder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.types import Pair
from service.batch.files import JobFile
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile
from service.batch.run import BatchJob
from service.cluster import ClusterOptions
from service.cluster.engines import NodeEngine, connect
from service.cluster.partitions import PartitionFolder
from service.cluster.run import ClusterJob
from service.formats.entries import FileOptions
from service.formats.registry import open_format
from tests.cluster.doubles import replace_ray

PAIR = Pair("de", "en")
TINY = Path(__file__).parents[1] / "tiny"
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
        return self.folder / "out.txt"

    @property
    def problems(self) -> Path:
        return self.folder / "out.txt.errors.jsonl"

    @property
    def partitions(self) -> PartitionFolder:
        return PartitionFolder(self.folder / "out.txt.partitions")

    def job(self, lines: Sequence[str], facts: dict[str, str] | None = None) -> BatchJob:
        source = self.folder / "in.txt"
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
        file = JobFile("in.txt", source, self.target, open_format("in.txt", FileOptions(*PAIR)), PAIR)
        return BatchJob((file,), facts or {"engine": "a double"}, self.problems)

    def cluster_job(self, job: BatchJob, engine: NodeEngine, partition_entries: int = 8) -> ClusterJob:
        return ClusterJob(job, engine, self.partitions, TWO_WORKERS, partition_entries)

    def journal(self) -> Journal:
        return Journal(self.opened.enter_context(closing(JournalFile.open(self.folder / "journal.db"))))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        yield Place(tmp_path, opened)


@pytest.fixture
def new_place(tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    with ExitStack() as opened:

        def make(name: str) -> Place:
            folder = tmp_path / name
            folder.mkdir()
            return Place(folder, opened)

        yield make


@pytest.fixture(scope="module")
def two_cpus() -> Iterator[None]:
    """A Ray of this machine's own, which takes seconds to begin."""
    with connect(TWO_WORKERS):
        yield


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_ray(monkeypatch)
