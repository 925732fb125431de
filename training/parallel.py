"""Data-parallel training in several processes: each runs a batch of every step; gradients are averaged.

Every process holds the whole model and applies the same update, so that all copies stay bit-identical. Only
the first process writes files. On CPUs a step takes about as long as one process on one core needs for its
own batch; threads within a step gain far less.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed
from torch import nn
from torch._C._distributed_c10d import TCPStore

from training.config import TrainingConfig
from training.errors import WorkerLostError

HOST = "127.0.0.1"
JOIN_TIMEOUT = timedelta(minutes=10)
"""Maximum wait for all processes to join."""
GRACE_S = 5.0
"""Maximum wait in seconds for a process to end after its connection has closed."""
TIMEOUT = timedelta(days=7)
"""Maximum duration of an exchange: a run may be paused that long, or its first process may validate."""


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Pairs and target tokens of one step, and whether a process has a stop request."""

    pairs: int
    tokens: int
    is_stopping: bool


class ProcessGroup:
    """The group of a run's processes, with the rank of the current one."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank = rank
        self.count = count

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def average(self, model: nn.Module, counts: StepCounts) -> StepCounts:
        """Replace each gradient by its mean over the processes; return the sum of their counts."""
        if self.count == 1:
            return counts
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        totals = torch.tensor([counts.pairs, counts.tokens, counts.is_stopping], dtype=torch.float32)
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), totals])
        torch.distributed.all_reduce(flat)
        begin = 0
        for gradient in gradients:
            end = begin + gradient.numel()
            gradient.copy_(flat[begin:end].view_as(gradient)).div_(self.count)
            begin = end
        pairs, tokens, stopping = (round(value) for value in flat[begin:].tolist())
        return StepCounts(pairs, tokens, is_stopping=stopping > 0)


@contextmanager
def start_workers(
    config: TrainingConfig, follow: Callable[[TrainingConfig, int, int], None]
) -> Iterator[ProcessGroup]:
    """Start the other processes of a run, join them, and terminate them at the end.

    Args:
        config: has the total number of processes.
        follow: run by each other process with the config, its rank and the port of the first process.

    Raises:
        WorkerLostError: another process ended before the run did, or did not join.
    """
    count = config.optimisation.processes
    if count == 1:
        yield ProcessGroup(0, 1)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([follow.__module__])  # torch and Lightning are imported once for all
    store = TCPStore(HOST, 0, count, is_master=True, wait_for_workers=False)
    others = [
        context.Process(target=follow, args=(config, rank, store.port), daemon=True)
        for rank in range(1, count)
    ]
    for process in others:
        process.start()
    try:
        with _group(store, 0, count) as workers:
            yield workers
        for process in others:
            process.join()
    except RuntimeError as error:
        for process in others:
            process.join(GRACE_S)
        lost = [str(rank) for rank, process in enumerate(others, start=1) if not process.is_alive()]
        if not lost:
            raise
        raise WorkerLostError(
            f"process {', '.join(lost)} of {count} ended early; "
            "the same command goes on from the newest resume point"
        ) from error
    finally:
        for process in others:
            process.terminate()


@contextmanager
def meet(port: int, rank: int, count: int) -> Iterator[ProcessGroup]:
    """Join the other processes of a run.

    Args:
        port: port on which the first process waits.
        rank: rank of this process, from 1.
        count: number of processes.
    """
    store = TCPStore(HOST, port, count, is_master=False)
    with _group(store, rank, count) as workers:
        yield workers


@contextmanager
def _group(store: TCPStore, rank: int, count: int) -> Iterator[ProcessGroup]:
    store.set_timeout(JOIN_TIMEOUT)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    try:
        yield ProcessGroup(rank, count)
    finally:
        torch.distributed.destroy_process_group()
