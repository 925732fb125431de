"""Jobs on a local Ray: the same files as without it, also if a worker dies."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router
from service.batch.entry_translator import translator_for
from service.batch.progress import BatchProgress, BatchReport
from service.batch.run import run_job, translator_facts
from service.cluster.engines import RoutedEngine
from service.cluster.run import run_on_ray
from service.translation.options import BATCH
from tests.jobs.batch.doubles import PAIR, UpperCase
from tests.jobs.cluster.conftest import Place
from tests.jobs.cluster.doubles import DoubleEngine
from tests.paths import TINY

pytestmark = [
    pytest.mark.usefixtures("two_cpus"),
    # Ray's of its own settings, and of partitions fewer than workers.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::UserWarning:ray"),
]
LINES = [f"line {number % 70}" for number in range(200)]
LINES[20] = LINES[150] = "unusable here"
LINES[30] = "cut here"


@dataclass(frozen=True, slots=True)
class RunWithDeath:
    """What a job of two workers came to, the first of which was killed."""

    place: Place
    report: BatchReport
    seen: list[BatchProgress]
    notes: list[str]
    """One of each engine that was opened."""


@pytest.fixture(scope="module")
def run_with_death(tmp_path_factory: pytest.TempPathFactory, two_cpus: None) -> Iterator[RunWithDeath]:
    del two_cpus
    notes = tmp_path_factory.mktemp("notes")
    seen: list[BatchProgress] = []
    killed: list[int] = []

    def kill_the_first(progress: BatchProgress) -> None:
        seen.append(progress)
        if progress.num_translated and not killed:
            killed.append(int(next(notes.iterdir()).name))
            os.kill(killed[0], signal.SIGKILL)

    with ExitStack() as opened:
        place = Place(tmp_path_factory.mktemp("together"), opened)
        wanted = place.cluster_job(place.job(LINES), DoubleEngine(notes, min_openings=2, entry_s=0.02), 4)
        report = run_on_ray(wanted, place.journal(), on_progress=kill_the_first)
        assert killed
        yield RunWithDeath(place, report, seen, [note.read_text() for note in notes.iterdir()])


def test_two_workers_write_what_one_process_writes(run_with_death: RunWithDeath, place: Place) -> None:
    expected = run_job(place.job(LINES), UpperCase(), place.journal())

    together = run_with_death.place
    assert run_with_death.report == expected
    assert expected.num_failed == 2
    assert together.target.read_bytes() == place.target.read_bytes()
    assert together.problems.read_bytes() == place.problems.read_bytes()
    assert together.target.read_text().splitlines()[20] == "unusable here"
    assert run_with_death.seen[0].num_done == 0
    assert run_with_death.seen[-1] == BatchProgress(len(LINES), len(LINES), 2, expected.num_translated)
    assert not together.partitions.path.exists()


def test_a_worker_that_dies_is_replaced_by_one_with_as_many_cpus(run_with_death: RunWithDeath) -> None:
    assert len(run_with_death.notes) > 2
    assert set(run_with_death.notes) == {"1"}
    assert run_with_death.report.num_translated == len(set(LINES))


def test_the_real_engine_translates_on_nodes_as_it_does_here(place: Place) -> None:
    sources = [pair.split("\t")[0] for pair in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()]
    bundle = TINY / "bundle-int8"
    alone, together = place, Place(place.folder / "together", place.opened)
    with Router.open({"tiny": bundle}, translators=TranslatorOptions(replicas=1)) as router:
        facts = translator_facts(router, [PAIR], BATCH)
        run_job(alone.job(sources, facts), partial(translator_for, router), alone.journal())
    engine = RoutedEngine({"tiny": bundle}, (PAIR,), facts, BATCH)

    run_on_ray(together.cluster_job(together.job(sources, facts), engine, len(sources)), together.journal())

    assert together.target.read_bytes() == alone.target.read_bytes()
    assert together.target.read_text(encoding="utf8").startswith("Good morning!\n")
