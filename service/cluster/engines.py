"""The engine of a cluster node, and the Ray actor that translates partitions with it."""

import pickle
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import DragomanError
from dragoman.providers import parse_providers
from dragoman.routing.router import Router, RouterOptions, TranslatorOptions
from dragoman.types import Pair
from service.batch.entry_translator import RoutedEntryTranslator, UnchangedTranslator
from service.batch.errors import BatchError
from service.batch.fingerprint import translator_facts
from service.batch.pending_entries import TranslatorOf
from service.batch.texts import EntryTranslator
from service.cluster.errors import ClusterFailed, EngineDiffers
from service.cluster.partitions import read_partition, write_outcomes


class NodeEngine(Protocol):
    """A picklable description of an engine, which opens it on any node."""

    def open(self, num_cpus: int) -> AbstractContextManager[TranslatorOf]:
        """Open the engine until the block ends; return the function that gives a pair's translator.

        Args:
            num_cpus: number of CPUs that the node has for the engine.

        Raises:
            EngineDiffers: its translations would differ from those of the job.
        """
        ...


@dataclass(frozen=True, slots=True)
class RoutedEngine:
    """An engine with bundles in folders that all nodes have under the same paths."""

    models: Mapping[str, Path]
    """Folders of the bundles, by name."""
    pairs: tuple[Pair, ...]
    """Languages of all files."""
    facts: Mapping[str, str]
    """`translator_facts` of the driver process."""
    options: DecodingOptions
    model: str | None = None
    """The only bundle to use."""
    pivots: tuple[str, ...] = ()
    providers: str = "cpu"
    threads: int = 1
    """Threads of one replica: as many as without a cluster, so that the translations are the same."""

    @contextmanager
    def open(self, num_cpus: int) -> Iterator[TranslatorOf]:
        """Open the engine as `NodeEngine.open` does, with one replica for every `threads` CPUs."""
        translators = TranslatorOptions(
            replicas=max(1, num_cpus // self.threads),
            threads=self.threads,
            providers=parse_providers(self.providers),
        )
        with Router.open(
            dict(self.models), translators=translators, options=RouterOptions(pivots=self.pivots)
        ) as router:
            self._check(router)
            yield lambda pair: self._translator(router, pair)

    def _check(self, router: Router) -> None:
        own = translator_facts(router, self.pairs, self.options, self.model, self.providers)
        if own != dict(self.facts):
            differing = [name for name in {**self.facts, **own} if own.get(name) != self.facts.get(name)]
            raise EngineDiffers(
                tuple(
                    f"{name} is {own.get(name)} there and {self.facts.get(name)} here" for name in differing
                )
            )

    def _translator(self, router: Router, pair: Pair) -> EntryTranslator:
        if pair.source == pair.target:
            return UnchangedTranslator()
        return RoutedEntryTranslator(router, pair.source, pair.target, self.options, self.model)


class PartitionTranslator:
    """A Ray actor with an engine that is opened once and translates partition after partition."""

    def __init__(self, engine: NodeEngine, num_cpus: int, outcomes_path: Path) -> None:
        """Open nothing yet: Ray would retry a constructor that raises, again and again."""
        self._engine = engine
        self._num_cpus = num_cpus
        self._outcomes_path = outcomes_path
        self._opened = ExitStack()
        """Never closed: the engine lives as long as the actor's process."""
        self._translator_of: TranslatorOf | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str | bytes]]:
        """Translate the partitions whose file names are in the column `item`.

        Returns:
            For each partition its file of outcomes in the column `outcomes`, or a pickled error in `error`:
            Ray would replace an error that an actor raises with its own, whose text has many lines.
        """
        outcomes: list[str | bytes] = []
        errors: list[str | bytes] = []
        for name in batch["item"]:
            path, error = self._try(Path(str(name)))
            outcomes.append(path)
            errors.append(error)
        return {"outcomes": outcomes, "error": errors}

    def _try(self, path: Path) -> tuple[str, bytes]:
        try:
            return str(self._translate(path)), b""
        except BatchError as error:
            return "", pickle.dumps(error)
        except DragomanError as error:
            return "", pickle.dumps(ClusterFailed(f"a node: {error}"))

    def _translate(self, path: Path) -> Path:
        try:
            partition = read_partition(path)
        except FileNotFoundError as error:
            raise ClusterFailed(
                f"a node cannot find {path}; all nodes must share the output folder"
            ) from error
        if self._translator_of is None:
            self._translator_of = self._opened.enter_context(self._engine.open(self._num_cpus))
        outcomes = list(self._translator_of(partition.pair).translate(partition.entries))
        return write_outcomes(self._outcomes_path, path.name.partition(".")[0], partition.keys, outcomes)
