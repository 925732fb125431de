"""Several processes that train one model: each makes a batch of every step, and the gradients are averaged.

Every process holds the whole model and makes the same update from the same mean, so that all stay equal bit
for bit; only the first one writes anything. On CPUs a step then takes about as long as one process on one
core needs for its own batch, whereas threads within a step gain far less.
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
MEETING_TIMEOUT = timedelta(minutes=10)
"""Until all processes have come."""
GRACE_S = 5.0
"""For a process whose connection is closed: until it has ended."""
TIMEOUT = timedelta(days=7)
"""For an exchange: as long as a run may be paused, or its first process may validate."""


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What one step adds to a run's counters, and whether a process was asked to stop."""

    pairs: int
    tokens: int
    is_stopping: bool


class Workers:
    """The processes of a run, seen from one of them."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank = rank
        self.count = count

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def average(self, model: nn.Module, counts: StepCounts) -> StepCounts:
        """Replace each gradient by its mean over the processes; returns the sum of their counts."""
        if self.count == 1:
            return counts
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        own = torch.tensor([counts.pairs, counts.tokens, counts.is_stopping], dtype=torch.float32)
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), own])
        torch.distributed.all_reduce(flat)
        begin = 0
        for gradient in gradients:
            end = begin + gradient.numel()
            gradient.copy_(flat[begin:end].view_as(gradient)).div_(self.count)
            begin = end
        pairs, tokens, stopping = (round(value) for value in flat[begin:].tolist())
        return StepCounts(pairs, tokens, is_stopping=stopping > 0)


@contextmanager
def joined_workers(
    config: TrainingConfig, follow: Callable[[TrainingConfig, int, int], None]
) -> Iterator[Workers]:
    """Start the other processes of a run and meet them; they end with it.

    Args:
        config: says how many there are in all.
        follow: what each of the others does, with the config, its rank and the port where they meet.

    Raises:
        WorkerLostError: another process ended before the run did, or did not come.
    """
    count = config.optimisation.processes
    if count == 1:
        yield Workers(0, 1)
        return
    context = multiprocessing.get_context("spawn")
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
def meet(port: int, rank: int, count: int) -> Iterator[Workers]:
    """Join the other processes of a run.

    Args:
        port: where the first one waits.
        rank: this process's, from 1.
        count: of processes.
    """
    store = TCPStore(HOST, port, count, is_master=False)
    with _group(store, rank, count) as workers:
        yield workers


@contextmanager
def _group(store: TCPStore, rank: int, count: int) -> Iterator[Workers]:
    store.set_timeout(MEETING_TIMEOUT)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    try:
        yield Workers(rank, count)
    finally:
        torch.distributed.destroy_process_group()
