"""The engine as the settings want it: which bundles, how they are opened, and which at once."""

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
    """A router over the bundles that the settings name; none is open yet.

    Args:
        settings: which bundles, and how.
        engine_metrics: is told what the engine does.

    Raises:
        SettingsError: there is no models folder, or two models have one name.
        BundleError: there is no bundle that could be used.
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
        raise SettingsError(f"models_dir: there is no folder {settings.models_dir}")
    return Router.open(settings.models_dir, translators=translators, options=options)


def find_models(settings: Settings) -> dict[str, Path]:
    """Folders of the models that the settings name, by the folders' names.

    Raises:
        SettingsError: there is none, or two have one name.
        BundleError: one is not there.
    """
    given = settings.model or ""
    names = (given,) if Path(given).is_dir() else split_names(given)
    if not names:
        raise SettingsError(f"model: {given!r} names no bundle")
    found: dict[str, Path] = {}
    for name in names:
        path = find_bundle(name, settings.models_dir)
        known = found.setdefault(path.resolve().name, path)
        if known.resolve() != path.resolve():
            raise SettingsError(f"model: {known} and {path} have one name; rename one of them")
    return found


def preloaded(settings: Settings, router: Router) -> tuple[str, ...]:
    """Bundles to open before anything is translated.

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
    """A router from one language to another, for callers with many texts."""

    router: Router
    source: str | None
    target: str | None

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = DEFAULTS, read_ahead: int = READ_AHEAD_TEXTS
    ) -> Iterator[Translation | InputError]:
        """See `Router.translate_many`."""
        request = EngineRequest(options, priority=Priority.JOB)
        for outcome in self.router.translate_many(texts, self.source, self.target, request, read_ahead):
            yield outcome if isinstance(outcome, InputError) else outcome.translation
