"""The engine as the settings configure it: which bundles, their options, and which to open at start."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman import BundleError, InputError
from dragoman.bundle import Bundle, read_bundle, verify_files
from dragoman.providers import parse_providers
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from service.formats.limits import FileLimits, can_limit_processes
from service.settings.groups import BundleSettings, EngineSettings, JobSettings, split_names
from service.settings.model_folders import ModelFolders
from service.settings.settings import Settings, SettingsError

logger = logging.getLogger(__name__)
MORE_MODELS = "`dragoman import SOURCE-TARGET` lists models to add"
"""Remedy if no model serves a request."""


def client_file_limits(settings: Settings) -> FileLimits | None:
    """Return the limits for clients' files; None if the server's own process reads them.

    Raises:
        SettingsError: this platform cannot enforce the limits.
    """
    if settings.file_isolation == "off":
        return None
    if not can_limit_processes():
        raise SettingsError(
            "file_isolation: this platform cannot limit memory and CPU time of reading a file (no Python "
            "module `resource`); set file_isolation to off if all clients are trusted"
        )
    return replace(file_limits(settings), max_bytes=max(settings.max_job_bytes, settings.max_document_bytes))


def file_limits(settings: JobSettings) -> FileLimits:
    """Return the limits even if they are disabled for clients' files.

    Raises:
        SettingsError: this platform cannot enforce the limits.
    """
    if not can_limit_processes():
        raise SettingsError(
            "--untrusted: this platform cannot limit memory and CPU time of reading a file (no Python module "
            "`resource`); omit the option for files that you trust"
        )
    return FileLimits(settings.file_memory_bytes, settings.file_cpu_s, settings.file_timeout_s)


@dataclass(frozen=True, slots=True)
class BundleListing:
    """One folder of a model."""

    name: str
    bundle: Bundle | None
    """The bundle; None if its manifest cannot be read."""
    problems: tuple[str, ...]
    """Reasons why it cannot be served; empty if all files verify."""


def find_bundle(model: str, folders: ModelFolders) -> Path:
    """Return the folder `model`, or else the folder of the model with that name.

    Raises:
        BundleError: neither exists; the message lists the available names.
    """
    path, named = Path(model), folders.find()
    if path.is_dir():
        return path
    if model in named:
        return named[model]
    names = ", ".join(named) or "none"
    problem = f"neither a folder nor the name of a model; models in {folders}: {names}; {MORE_MODELS}"
    raise BundleError(model, (problem,))


def list_bundles(folders: ModelFolders) -> list[BundleListing]:
    """Read and verify all bundles; return them sorted by name."""
    return [_read_listing(folder) for folder in folders.find().values()]


def _read_listing(folder: Path) -> BundleListing:
    try:
        bundle = read_bundle(folder)
    except BundleError as error:
        return BundleListing(folder.name, None, error.problems)
    return BundleListing(folder.name, bundle, tuple(verify_files(bundle)))


def open_router(settings: Settings, engine_metrics: EngineMetrics = NO_METRICS) -> Router:
    """Return a router over the bundles that the settings name; none is open yet.

    Args:
        settings: the bundles and their options.
        engine_metrics: records the engine's work.

    Raises:
        SettingsError: there is no models folder, or two models have the same name.
        BundleError: there is no usable bundle.
    """
    translators = replace(translator_options(settings), engine_metrics=engine_metrics)
    folders = settings.model_folders
    options = RouterOptions(settings.memory_budget_bytes, split_names(settings.pivots), folders.bundled)
    if settings.model is not None:
        return Router.open(find_models(settings), translators=translators, options=options)
    if not folders.exists:
        raise SettingsError(f"models_dir: folder {folders} not found; {MORE_MODELS}")
    for name in folders.replaced():
        logger.info("%s is used in place of the bundled model %s", folders.own / name, name)
    return Router.open(folders.find, translators=translators, options=options)


def translator_options(settings: EngineSettings) -> TranslatorOptions:
    """Return how the settings open every bundle."""
    return TranslatorOptions(
        replicas=settings.replicas,
        threads=settings.threads,
        queue_size=settings.queue_size,
        providers=parse_providers(settings.providers),
        segment_cache_size=0 if settings.segment_cache == "off" else settings.segment_cache_size,
        kernels=settings.kernels,
        weights_dir=settings.weights_dir,
    )


def find_models(settings: BundleSettings) -> dict[str, Path]:
    """Return the folders of the models that the settings name, by folder name; without a name, of all.

    Raises:
        SettingsError: the setting has no name, or two models have the same one.
        BundleError: one does not exist.
    """
    if settings.model is None:
        return settings.model_folders.find()
    names = (settings.model,) if Path(settings.model).is_dir() else split_names(settings.model)
    if not names:
        raise SettingsError(f"model: {settings.model!r} names no bundle")
    found: dict[str, Path] = {}
    for name in names:
        path = find_bundle(name, settings.model_folders)
        known = found.setdefault(path.resolve().name, path)
        if known.resolve() != path.resolve():
            raise SettingsError(f"model: {known} and {path} have the same name; rename one of them")
    return found


def preloaded(settings: BundleSettings, router: Router) -> tuple[str, ...]:
    """Return the names of the bundles to open before the first request.

    Raises:
        SettingsError: there is no such bundle.
    """
    if settings.preload is None:
        offers = router.offers()
        preferred = [offer for offer in offers if not offer.is_fallback] or offers
        return (preferred[0].name,) if len(preferred) == 1 else ()
    try:
        return tuple(router.routes.named(name).name for name in split_names(settings.preload))
    except InputError as error:
        raise SettingsError(f"preload: {error.problem}") from error
