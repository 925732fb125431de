"""State that server processes share: settings, a folder, and what is loaded before they are forked."""

import gc
import sys
from contextlib import ExitStack

from dragoman.cpus import available_cpus
from dragoman.graphs.process_memory import give_back_free_memory
from dragoman.providers import parse_providers
from dragoman.routing.router import Router
from service.api.languages import english_name
from service.jobs.job_storage import ScratchFolder
from service.models.engine import preloaded
from service.settings.settings import Settings, SettingsError
from service.translation.detection import detect
from service.translation.inference import WARM_UP_TEXT

CPUS_OF_PROCESS = 4
"""CPUs for which `auto` starts a process."""


def num_processes(settings: Settings) -> int:
    """Return the number of processes that a server has."""
    return max(1, available_cpus() // CPUS_OF_PROCESS) if settings.processes == "auto" else settings.processes


def shared_settings(settings: Settings, count: int, opened: ExitStack) -> Settings:
    """Return the settings of each of several processes.

    Args:
        settings: of all together.
        count: number of processes.
        opened: removes, at its end, the temporary folder for what is in no database.

    Raises:
        SettingsError: the settings, or this platform, are for one process only.
    """
    has_database = settings.database_url is not None or settings.requires_key
    if sys.platform != "linux":
        problem = "only Linux distributes the connections of a port among processes"
    elif parse_providers(settings.providers) != ("cpu",):
        problem = "only one process can use a GPU"
    elif settings.rate_limit is not None and settings.rate_storage_url is None:
        problem = "each would count requests on its own, to the whole rate_limit; set rate_storage_url"
    elif settings.jobs == "off" and not has_database:
        problem = "each would have its own glossaries; set database_url"
    else:
        problem = ""
    if problem:
        raise SettingsError(f"processes: {count} are not possible: {problem}")
    folder = ScratchFolder(opened).folder
    changes: dict[str, object] = {
        "reuse_port": settings.uds is None,
        "replicas": settings.replicas or max(1, available_cpus() // settings.threads // count),
        "weights_dir": settings.weights_dir or folder / "weights",
    }
    if settings.jobs_files is None and not has_database:
        changes["jobs_files"] = str(folder / "files")
    return settings.model_copy(update=changes)


def load_shared(router: Router, settings: Settings) -> None:
    """Load what processes share that are forked later, which stays shared as long as none changes it."""
    english_name("en")
    if settings.threads == 1:  # onnxruntime's threads are not in a forked process
        router.preload(preloaded(settings, router))
    if settings.detection == "on":
        detect(WARM_UP_TEXT + WARM_UP_TEXT, router.routes.sources())
    gc.collect()
    gc.freeze()  # a collection would write to all objects
    give_back_free_memory()
