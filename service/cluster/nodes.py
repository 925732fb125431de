"""Use of Ray: start a local cluster or connect to one, and translate partitions with a pool of actors."""

import logging
import os
import pickle
import re
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING

from service.batch.errors import BatchError, JobCancelled
from service.cluster.engines import NodeEngine, PartitionTranslator
from service.cluster.errors import ClusterFailed, ClusterMissing

if TYPE_CHECKING:
    from ray.data import Dataset

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
"""Environment for Ray: no usage statistics are sent, and Ray's own log stays in its files."""
_AN_ERROR = re.compile(r"[\w.]+(Error|Exception): ")
LOOK_S = 0.2
"""Seconds between two checks whether the job is to stop."""
CONNECT_TIMEOUT_S = 10.0
"""Seconds to wait until a cluster answers."""
STOP_TIMEOUT_S = 30.0
"""Seconds that a stopped job waits for the next finished partition: only then can Ray drop the others."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster to use, and how much of it."""

    address: str | None = None
    """`auto` for the cluster that this machine is a node of, `HOST:PORT` for another; None for one that runs
    on this machine as long as the job."""
    workers: int = 1
    """Number of engines, each a process with its own copy of the models."""
    cpus: int = 1
    """Number of CPUs of each engine."""


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
    if host and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S):
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
