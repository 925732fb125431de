"""What a node of the cluster translates with, and how it does a partition."""

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
from service.batch.entry_translator import RoutedEntries, Unchanged
from service.batch.errors import BatchError
from service.batch.fingerprint import translator_facts
from service.batch.pending_entries import TranslatorOf
from service.batch.texts import EntryTranslator
from service.cluster.errors import ClusterFailed, EngineDiffers
from service.cluster.partitions import read_partition, write_outcomes


class NodeEngine(Protocol):
    """Opens an engine on whatever node it is sent to; it can be pickled."""

    def open(self, num_cpus: int) -> AbstractContextManager[TranslatorOf]:
        """Translators for pairs of languages, until the block ends.

        Args:
            num_cpus: that the node has for it.

        Raises:
            EngineDiffers: its translations would be others than those of the job.
        """
        ...


@dataclass(frozen=True, slots=True)
class RoutedEngine:
    """Bundles by their folders, which all nodes have under the same paths."""

    models: Mapping[str, Path]
    """By their names."""
    pairs: tuple[Pair, ...]
    """Languages of all files."""
    facts: Mapping[str, str]
    """`translator_facts` of the process that leads."""
    options: DecodingOptions
    model: str | None = None
    """The only bundle to use."""
    pivots: tuple[str, ...] = ()
    providers: str = "cpu"
    threads: int = 1
    """Inside one replica: as many as a run without a cluster has, whose translations are to be the same."""

    @contextmanager
    def open(self, num_cpus: int) -> Iterator[TranslatorOf]:
        """See `NodeEngine.open`; there is a replica for each CPU, or for as many as a replica has threads."""
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
            return Unchanged()
        return RoutedEntries(router, pair.source, pair.target, self.options, self.model)


class PartitionTranslator:
    """An actor of Ray: an engine that is opened once and does partition after partition."""

    def __init__(self, engine: NodeEngine, num_cpus: int, outcomes_path: Path) -> None:
        """Opens nothing yet: Ray tries to make an actor again and again, whatever its constructor raised."""
        self._engine = engine
        self._num_cpus = num_cpus
        self._outcomes_path = outcomes_path
        self._opened = ExitStack()
        """Closed by nobody: the engine lives as long as the actor's process."""
        self._translator_of: TranslatorOf | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str | bytes]]:
        """Translate partitions, whose files are named in the column `item`.

        Returns:
            For each the name of its file of outcomes in the column `outcomes`, or in `error` what went wrong,
            pickled: Ray has its own errors in the place of what an actor raises, with texts of many lines.
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
            raise ClusterFailed(f"a node does not see {path}; all must share the output's folder") from error
        if self._translator_of is None:
            self._translator_of = self._opened.enter_context(self._engine.open(self._num_cpus))
        outcomes = list(self._translator_of(partition.pair).translate(partition.entries))
        return write_outcomes(self._outcomes_path, path.name.partition(".")[0], partition.keys, outcomes)
