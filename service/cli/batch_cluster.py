"""`dragoman batch --engine ray`: the same job, translated on a cluster."""

from pathlib import Path

from dragoman.routing.bundle_scan import bundle_folders
from service.batch.job_directory import JobDirectory
from service.batch.run import Job
from service.cli.batch_job import BatchArguments
from service.cluster import ClusterOptions
from service.cluster.engines import RoutedEngine
from service.cluster.partitions import PartitionFolder
from service.cluster.run import ClusterJob, run_on_ray
from service.engine import find_models
from service.settings import Settings, split_names

__all__ = ["cluster_job", "run_on_ray"]


def cluster_job(
    job: Job,
    arguments: BatchArguments,
    cluster: ClusterOptions,
    job_directory: JobDirectory,
    settings: Settings,
) -> ClusterJob:
    """Return the job for `run_on_ray`. Nodes must have the bundles under the same paths as this machine."""
    folders = bundle_folders(settings.models_dir) if settings.model is None else find_models(settings)
    engine = RoutedEngine(
        {name: Path(folder).resolve() for name, folder in folders.items()},
        tuple(sorted({file.pair for file in job.files})),
        job.facts,
        arguments.decoding,
        model=arguments.languages.model,
        pivots=split_names(settings.pivots),
        providers=settings.providers,
        threads=settings.threads,
    )
    return ClusterJob(job, engine, PartitionFolder(job_directory.partitions_path), cluster)
