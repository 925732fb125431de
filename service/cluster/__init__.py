"""Batch jobs on a Ray cluster: a pool of engines on its nodes translates the pending entries."""

from dataclasses import dataclass


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
