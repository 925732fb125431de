"""`dragoman batch --engine ray`: the same job, translated on a cluster."""

from service.batch.job_directory import JobDirectory
from service.batch.run import BatchJob
from service.cli.batch_arguments import BatchArguments
from service.cluster import ClusterOptions
from service.cluster.engines import RoutedEngine
from service.cluster.partitions import PartitionFolder
from service.cluster.run import ClusterJob
from service.engine import find_models
from service.settings import Settings, split_names


def cluster_job(
    job: BatchJob,
    arguments: BatchArguments,
    cluster: ClusterOptions,
    job_directory: JobDirectory,
    settings: Settings,
) -> ClusterJob:
    """Return the job for `run_on_ray`. Nodes must have the bundles under the same paths as this machine."""
    folders = settings.model_folders
    engine = RoutedEngine(
        {name: folder.resolve() for name, folder in find_models(settings).items()},
        tuple(sorted({file.pair for file in job.files})),
        job.facts,
        arguments.options,
        pivots=split_names(settings.pivots),
        providers=settings.providers,
        kernels=settings.kernels,
        threads=settings.threads,
        fallback_dir=folders.bundled,
    )
    return ClusterJob(job, engine, PartitionFolder(job_directory.partitions_path), cluster)
