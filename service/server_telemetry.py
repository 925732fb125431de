"""All that watches a server, put together once for each process."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from dragoman.scheduling.metrics import EngineMetrics
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorForm, ErrorForms
from service.http.metrics_route import Access, metrics_routes
from service.http.telemetry_middleware import LineOptions, TelemetryMiddleware
from service.telemetry.engine_metrics import EngineMetricsCollector
from service.telemetry.metrics import Metrics, ServerState
from service.telemetry.request_counters import RequestCounters
from service.telemetry.tracing import NO_TRACING, Tracing, open_tracing
from service.telemetry.worker_counters import WorkerCounters
from service.translation.inference import Inference


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """What is watched, and who may see it."""

    metrics: Access = "open"
    lines: LineOptions = field(default_factory=LineOptions)
    otlp_endpoint: str | None = None
    """Where traces go; None for none."""
    memory_budget_bytes: int | None = None
    """The router's, which metrics tell of."""


class Telemetry:
    """Watches the engine by its `engine_metrics`, and an application that it surrounds."""

    def __init__(self, options: TelemetryOptions = TelemetryOptions(), tracing: Tracing = NO_TRACING) -> None:
        """Nothing seen yet.

        Args:
            options: what is watched.
            tracing: is told of requests and of what the engine does for them.
        """
        self._options = options
        self._tracing = tracing
        self.requests = RequestCounters()
        self.workers = WorkerCounters()
        self._engine = EngineMetricsCollector(tracing)

    @classmethod
    def open(cls, options: TelemetryOptions) -> "Telemetry":
        """With traces, where they are wanted.

        Raises:
            TracingError: they cannot be had.
        """
        return cls(options, open_tracing(options.otlp_endpoint))

    @property
    def engine_metrics(self) -> EngineMetrics:
        """For the router, when it is opened."""
        return self._engine

    def error_forms(self, others: Iterable[ErrorForm]) -> ErrorForms:
        """Forms of errors that count what they word."""
        return _CountedForms(tuple(others), self.requests)

    def routes(self, inference: Inference, authenticator: Authenticator) -> APIRouter:
        """What metrics are read from, if anybody may."""
        return metrics_routes(self.metrics(inference), authenticator, self._options.metrics)

    def metrics(self, inference: Inference) -> Metrics:
        """Of a server, as it is whenever they are asked for."""

        def look() -> ServerState:
            router = inference.router
            models = router.models()
            return ServerState(
                is_ready=inference.is_ready,
                num_models=len(models),
                num_open_models=sum(model.is_open for model in models),
                memory_bytes=router.used_bytes,
                queue=router.queue(),
            )

        return Metrics(self._engine, self.requests, self.workers, look, self._options.memory_budget_bytes)

    def surround(self, app: FastAPI) -> None:
        """Watch its requests; to be called after every other middleware was added."""
        app.add_middleware(self._tracing.surround)
        app.add_middleware(TelemetryMiddleware, counters=self.requests, options=self._options.lines)

    def close(self) -> None:
        """Send the last traces; when nothing is served any more."""
        self._tracing.close()


@dataclass(frozen=True, slots=True)
class _CountedForms(ErrorForms):
    counters: RequestCounters = field(default_factory=RequestCounters)

    def respond(self, error: ApiError, path: str) -> Response:
        self.counters.reject(error.kind)
        return ErrorForms.respond(self, error, path)
