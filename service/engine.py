"""The engine as the settings configure it: which bundles, their options, and which to open at start."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman import DecodingOptions, EngineRequest, InputError, Priority, Translation
from dragoman.pipeline.engine_request import DEFAULTS
from dragoman.providers import parse_providers
from dragoman.routing.router import Router, RouterOptions, TranslatorOptions
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.translator import READ_AHEAD_TEXTS
from service.bundle_lookup import find_bundle
from service.settings import Settings, SettingsError, split_names


def open_router(settings: Settings, engine_metrics: EngineMetrics = NO_METRICS) -> Router:
    """Return a router over the bundles that the settings name; none is open yet.

    Args:
        settings: the bundles and their options.
        engine_metrics: records the engine's work.

    Raises:
        SettingsError: there is no models folder, or two models have the same name.
        BundleError: there is no usable bundle.
    """
    translators = TranslatorOptions(
        replicas=settings.replicas,
        threads=settings.threads,
        queue_size=settings.queue_size,
        providers=parse_providers(settings.providers),
        segment_cache_size=0 if settings.segment_cache == "off" else settings.segment_cache_size,
        engine_metrics=engine_metrics,
    )
    options = RouterOptions(settings.memory_budget_bytes, split_names(settings.pivots))
    if settings.model is not None:
        return Router.open(find_models(settings), translators=translators, options=options)
    if not settings.models_dir.is_dir():
        raise SettingsError(f"models_dir: folder {settings.models_dir} not found")
    return Router.open(settings.models_dir, translators=translators, options=options)


def find_models(settings: Settings) -> dict[str, Path]:
    """Return the folders of the models that the settings name, by folder name.

    Raises:
        SettingsError: no model is named, or two have the same name.
        BundleError: one does not exist.
    """
    names_setting = settings.model or ""
    names = (names_setting,) if Path(names_setting).is_dir() else split_names(names_setting)
    if not names:
        raise SettingsError(f"model: {names_setting!r} names no bundle")
    found: dict[str, Path] = {}
    for name in names:
        path = find_bundle(name, settings.models_dir)
        known = found.setdefault(path.resolve().name, path)
        if known.resolve() != path.resolve():
            raise SettingsError(f"model: {known} and {path} have the same name; rename one of them")
    return found


def preloaded(settings: Settings, router: Router) -> tuple[str, ...]:
    """Return the names of the bundles to open before the first request.

    Raises:
        SettingsError: there is no such bundle.
    """
    if settings.preload is None:
        offers = router.offers()
        return (offers[0].name,) if len(offers) == 1 else ()
    try:
        return tuple(router.routes.named(name).name for name in split_names(settings.preload))
    except InputError as error:
        raise SettingsError(f"preload: {error.problem}") from error


@dataclass(frozen=True, slots=True)
class FixedPair:
    """A router with a fixed language pair, for callers with many texts."""

    router: Router
    source: str | None
    target: str | None

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = DEFAULTS, read_ahead: int = READ_AHEAD_TEXTS
    ) -> Iterator[Translation | InputError]:
        """Translate as `Router.translate_many` does, with the priority of a job."""
        request = EngineRequest(options, priority=Priority.JOB)
        for outcome in self.router.translate_many(texts, self.source, self.target, request, read_ahead):
            yield outcome if isinstance(outcome, InputError) else outcome.translation
