"""What ends a job on a cluster, beside what ends any job."""

from dataclasses import dataclass

from service.batch.errors import BatchRejected, BatchStopped


@dataclass(eq=False)
class ClusterMissing(BatchRejected):
    """Ray, or what it stands on, is not installed."""

    problem: str

    def __str__(self) -> str:
        return (
            f'a cluster is used through Ray, which is not there ({self.problem}); pip install "dragoman[ray]"'
        )


@dataclass(eq=False)
class ClusterFailed(BatchStopped):
    """The cluster could not be reached, or something in it ended what was under way."""

    problem: str

    def __str__(self) -> str:
        return f"the cluster failed: {self.problem}; what was translated is kept"


@dataclass(eq=False)
class PartitionDamaged(BatchStopped):
    """A partition's file is not what was written."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} is not what was written to it; what was translated besides is kept"


@dataclass(eq=False)
class EngineDiffers(BatchRejected):
    """A node of the cluster has other bundles, or other versions, than the one that leads."""

    differences: tuple[str, ...]

    def __str__(self) -> str:
        encoded = "; ".join(self.differences)
        return f"a node of the cluster has another engine: {encoded}; install the same on all nodes"
