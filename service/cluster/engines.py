"""The engine of a cluster node, and the Ray actor that translates partitions with it."""

import logging
import os
import pickle
import re
import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.errors import DragomanError
from dragoman.routing.options import DEFAULT_ROUTER, DEFAULT_TRANSLATORS, RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.batch.entry_translator import translator_for
from service.batch.errors import BatchError, ClusterFailed, ClusterMissing, EngineDiffers, JobCancelled
from service.batch.pending_entries import TranslatorOf
from service.batch.run import translator_facts
from service.cluster import ClusterOptions
from service.cluster.partitions import read_partition, write_outcomes
from service.translation.options import TranslationOptions

if TYPE_CHECKING:
    from ray.data import Dataset


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
    options: TranslationOptions
    translators: TranslatorOptions = DEFAULT_TRANSLATORS
    """Options of the bundles, whose replicas have as many threads as without a cluster: translations are then
    the same."""
    routing: RouterOptions = DEFAULT_ROUTER

    @contextmanager
    def open(self, num_cpus: int) -> Iterator[TranslatorOf]:
        """Open the engine as `NodeEngine.open` does, with one replica for every `threads` CPUs."""
        translators = replace(self.translators, replicas=max(1, num_cpus // self.translators.threads))
        with Router.open(dict(self.models), translators=translators, options=self.routing) as router:
            self._check(router, translators)
            yield lambda pair: translator_for(router, pair, self.options)

    def _check(self, router: Router, translators: TranslatorOptions) -> None:
        found = translator_facts(router, self.pairs, self.options, translators)
        if found != dict(self.facts):
            differing = [name for name in {**self.facts, **found} if found.get(name) != self.facts.get(name)]
            raise EngineDiffers(
                tuple(
                    f"{name} is {found.get(name)} there and {self.facts.get(name)} here" for name in differing
                )
            )


@dataclass(slots=True, eq=False)
class PartitionTranslator:
    """A Ray actor with an engine that is opened once and translates partition after partition.

    The constructor opens nothing: Ray would retry one that raises, again and again.
    """

    engine: NodeEngine
    num_cpus: int
    outcomes_path: Path
    _opened: ExitStack = field(default_factory=ExitStack)
    """Never closed: the engine lives as long as the actor's process."""
    _translator_of: TranslatorOf | None = None

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
            self._translator_of = self._opened.enter_context(self.engine.open(self.num_cpus))
        outcomes = list(self._translator_of(partition.pair).translate(partition.entries))
        return write_outcomes(self.outcomes_path, path.name.partition(".")[0], partition.keys, outcomes)


QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
"""Environment for Ray: no usage statistics are sent, and Ray's own log stays in its files."""
_AN_ERROR = re.compile(r"[\w.]+(Error|Exception): ")
LOOK_S = 0.2
"""Seconds between two checks whether the job is to stop."""
MAX_PORT_DIGITS = 5
CONNECT_TIMEOUT_S = 10.0
"""Seconds to wait until a cluster answers."""
STOP_TIMEOUT_S = 30.0
"""Seconds that a stopped job waits for the next finished partition: only then can Ray drop the others."""


@contextmanager
def connect(options: ClusterOptions) -> Iterator[None]:
    """Connect to a cluster until the block ends; a connection that this process already has stays open.

    No usage statistics are sent to Ray's makers.

    Raises:
        ClusterMissing: Ray is not installed.
        ClusterFailed: the cluster cannot be reached or started.
    """
    try:
        import ray  # noqa: PLC0415 -- an extra, which takes a second to import
    except ImportError as error:
        raise ClusterMissing(str(error)) from error
    if ray.is_initialized():
        yield
        return
    os.environ.update(QUIET)
    try:
        if options.address is None:
            num_cpus = options.workers * options.cpus
            ray.init(
                "local",
                num_cpus=num_cpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            _check_reachable(options.address)
            ray.init(options.address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ClusterFailed(f"{options.address or 'Ray on this machine'}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Connect to the cluster's address once, and fail early: Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and len(port) <= MAX_PORT_DIGITS:
        host_and_port = host.strip("[]"), int(port)  # at most 5 digits
        with socket.create_connection(host_and_port, timeout=CONNECT_TIMEOUT_S):
            pass


def translate_partitions(
    partitions: Sequence[Path], engine: NodeEngine, outcomes_path: Path, options: ClusterOptions, stop: Event
) -> Generator[Path]:
    """Yield files of outcomes as they are finished, in any order. Close the generator if not all are used.

    Raises:
        JobCancelled: `stop` was set.
        ClusterFailed: an engine could not be opened, or died; Ray has retried where that can help.
        BatchError: an engine raised this error.
    """
    dataset = _dataset(partitions, engine, outcomes_path, options)
    finished: Queue[Path | Exception | None] = Queue()
    should_leave = Event()
    thread = Thread(target=_consume, args=(dataset, finished, should_leave), name="ray-data", daemon=True)
    thread.start()
    try:
        while (result := _next(finished, stop)) is not None:
            if isinstance(result, Exception):
                raise _to_batch_error(result)
            yield result
    finally:
        should_leave.set()
        thread.join(STOP_TIMEOUT_S)


def _dataset(
    partitions: Sequence[Path], engine: NodeEngine, outcomes_path: Path, options: ClusterOptions
) -> "Dataset":
    import ray.data  # noqa: PLC0415 -- see `connect`

    context = ray.data.DataContext.get_current()
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised as well
    context.enable_progress_bars = False
    context.log_internal_stack_trace_to_stdout = False
    # One block, and so one task, for each partition. Ray does not read the files itself: it would merge and
    # split them as it likes, but a partition must be translated and written as a whole.
    named = ray.data.from_items([str(path) for path in partitions], override_num_blocks=len(partitions))
    return named.map_batches(
        PartitionTranslator,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=min(options.workers, len(partitions))),
        num_cpus=options.cpus,
        fn_constructor_args=(engine, options.cpus, outcomes_path),
    )


def _consume(dataset: "Dataset", finished: "Queue[Path | Exception | None]", should_leave: Event) -> None:
    try:
        for batch in dataset.iter_batches(batch_size=None, prefetch_batches=0):
            for name, error in zip(batch["outcomes"], batch["error"], strict=True):
                # Safe to unpickle: pickled by this job's own actors.
                finished.put(pickle.loads(bytes(error)) if error else Path(str(name)))  # noqa: S301
            if should_leave.is_set():
                return
    except Exception as error:  # noqa: BLE001 -- the job's thread raises it
        finished.put(error)
    else:
        finished.put(None)


def _next(finished: "Queue[Path | Exception | None]", stop: Event) -> Path | Exception | None:
    while True:
        if stop.is_set():
            raise JobCancelled
        try:
            return finished.get(timeout=LOOK_S)
        except Empty:
            continue


def _to_batch_error(error: Exception) -> BatchError:
    """Return an actor's error as it is, or the relevant line of Ray's message as a ClusterFailed."""
    if isinstance(error, BatchError):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return ClusterFailed(next((line for line in lines if _AN_ERROR.match(line)), lines[-1]))
