"""Options of a router and of the translators that it opens."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.argument_types import checks_arguments
from dragoman.loading import scheduler_options
from dragoman.manifest import Manifest
from dragoman.providers import Kernels, Provider, SessionOptions
from dragoman.routing.memory import estimated_bytes
from dragoman.routing.routes import PIVOTS
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.translator import QUEUE_SIZE, Translator


@checks_arguments
@dataclass(frozen=True, slots=True)
class TranslatorOptions:
    """Options with which every bundle is opened; see `Translator.open`."""

    replicas: int | None = None
    threads: int = 1
    queue_size: int = QUEUE_SIZE
    providers: tuple[Provider, ...] = ("cpu",)
    segment_cache_size: int = 0
    engine_metrics: EngineMetrics = NO_METRICS
    kernels: Kernels = "auto"
    weights_dir: Path | None = None

    def open(self, path: Path) -> Translator:
        return Translator.open(
            path,
            replicas=self.replicas,
            threads=self.threads,
            queue_size=self.queue_size,
            providers=self.providers,
            segment_cache_size=self.segment_cache_size,
            engine_metrics=self.engine_metrics,
            kernels=self.kernels,
            weights_dir=self.weights_dir,
        )

    @property
    def session(self) -> SessionOptions:
        """Return the options of onnxruntime's sessions."""
        return SessionOptions(self.threads, self.providers)

    def estimate_bytes(self, manifest: Manifest) -> int:
        """Return the memory that a bundle takes when it is opened with these options."""
        options = scheduler_options(self.session, self.replicas, self.queue_size)
        return estimated_bytes(manifest, options.replicas)


@checks_arguments
@dataclass(frozen=True, slots=True)
class RouterOptions:
    """Memory budget and preferred pivot languages."""

    budget_bytes: int | None = None
    """Limit of the estimated memory of all open bundles together; None for no limit."""
    pivots: tuple[str, ...] = PIVOTS
    """Preferred languages to translate through where no bundle serves a pair, best first; all others come
    after them."""
    fallback_dir: Path | None = None
    """Folder whose bundles serve only the pairs that no bundle elsewhere serves; None for none."""


DEFAULT_TRANSLATORS = TranslatorOptions()
DEFAULT_ROUTER = RouterOptions()
