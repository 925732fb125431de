"""Errors that end a job on a cluster, in addition to those of every batch job."""

from dataclasses import dataclass

from service.batch.errors import BatchRejected, BatchStopped


@dataclass(eq=False)
class ClusterMissing(BatchRejected):
    """Ray, or a library that it needs, is not installed."""

    problem: str

    def __str__(self) -> str:
        return f'a cluster needs Ray, which cannot be used ({self.problem}); pip install "dragoman[ray]"'


@dataclass(eq=False)
class ClusterFailed(BatchStopped):
    """The cluster could not be reached, or work on it failed."""

    problem: str

    def __str__(self) -> str:
        return f"the cluster failed: {self.problem}; finished translations are kept"


@dataclass(eq=False)
class PartitionDamaged(BatchStopped):
    """A partition's file is not the same as what was written."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} is damaged; the other translations are kept"


@dataclass(eq=False)
class EngineDiffers(BatchRejected):
    """A node of the cluster has other bundles or versions than the driver."""

    differences: tuple[str, ...]

    def __str__(self) -> str:
        encoded = "; ".join(self.differences)
        return f"a node of the cluster has a different engine: {encoded}; install the same one on all nodes"
