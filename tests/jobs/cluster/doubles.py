"""Engines of a few lines, which nodes of a cluster can open as they are sent, and a double for Ray."""

import os
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.batch.pending_entries import TranslatorOf
from service.cluster import ClusterOptions
from service.cluster.engines import NodeEngine, PartitionTranslator
from tests.engine.routing.doubles import until
from tests.jobs.batch.doubles import UpperCase


@dataclass(frozen=True, slots=True)
class DoubleEngine:
    """Notes in a folder which processes opened it, and with how many CPUs."""

    notes: Path | None = None
    min_openings: int = 1
    """Processes that must have opened it before any of them begins, so that none does all the work alone."""
    open_s: float = 0.0
    entry_s: float = 0.0

    @contextmanager
    def open(self, num_cpus: int) -> Iterator[TranslatorOf]:
        time.sleep(self.open_s)
        if self.notes is not None:
            notes = self.notes
            (notes / f"{os.getpid()}").write_text(str(num_cpus))
            until(lambda: len(list(notes.iterdir())) >= self.min_openings)
        translator = UpperCase(read_ahead=1)
        translator.on_outcome = lambda _: time.sleep(self.entry_s)
        yield translator


@dataclass(frozen=True, slots=True)
class LocalDataset:
    """In place of Ray's: its only node is this process."""

    partitions: Sequence[Path]
    engine: NodeEngine
    outcomes_path: Path
    options: ClusterOptions

    def iter_batches(self, **_options: object) -> Iterator[dict[str, list[str | bytes]]]:
        """Translate a partition for each batch."""
        sent = pickle.loads(pickle.dumps(self.engine))  # noqa: S301 -- as it reaches a node
        with ExitStack() as opened:
            translator = PartitionTranslator(sent, self.options.cpus, self.outcomes_path, opened)
            for path in self.partitions:
                yield translator({"item": [str(path)]})


def replace_ray(patch: pytest.MonkeyPatch) -> None:
    """Let jobs for a cluster run in this process, with all of their code but Ray's."""
    patch.setattr("service.cluster.run.connect", lambda _: nullcontext())
    patch.setattr("service.cluster.engines._dataset", LocalDataset)
