"""Telemetry of a server: metrics, traces and request logs, created once per process."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from fastapi import APIRouter, FastAPI, Request
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response

from dragoman.scheduling.metrics import EngineMetrics
from service.accounts.keys import Scope
from service.http.authentication import Authenticator
from service.http.errors import ErrorForm, ErrorForms
from service.http.openapi import KEY_ERRORS, WITH_KEY, describe_route, error_responses
from service.http.telemetry_middleware import RequestLogOptions, TelemetryMiddleware
from service.telemetry.counters import EngineMetricsCollector, RequestCounters, WorkerCounters
from service.telemetry.metrics import Metrics, ServerState
from service.telemetry.tracing import NO_TRACING, Tracing
from service.telemetry.tracing_setup import open_tracing
from service.translation.inference import Inference
from service.work.threads import run_in_thread

Access = Literal["open", "key", "off"]
"""Callers that may read metrics: anybody, callers with a key of the scope `admin`, or nobody."""


def metrics_routes(metrics: Metrics, authenticator: Authenticator, access: Access) -> APIRouter:
    """Return the route `GET /metrics`; none if access is off."""
    routes = APIRouter(tags=["health"])
    if access == "off":
        return routes
    requires_key = access == "key"

    @routes.get(
        "/metrics",
        operation_id="metrics",
        response_class=Response,
        dependencies=WITH_KEY if requires_key else (),
        **describe_route(
            "Metrics for Prometheus",
            responses={
                200: {
                    "description": "All metrics in Prometheus's text format",
                    "content": {CONTENT_TYPE_PLAIN_0_0_4: {"schema": {"type": "string"}}},
                },
                **(error_responses(KEY_ERRORS) if requires_key else {}),
            },
        ),
    )
    async def read_metrics(connection: Request) -> Response:
        """Return counts and durations of requests and of the engine; nothing that a client wrote."""
        if requires_key:
            await authenticator.authenticate_key(connection, Scope.ADMIN)
        return Response(await run_in_thread(metrics.exposition), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """Signals to record, and callers that may read the metrics."""

    metrics: Access = "open"
    lines: RequestLogOptions = field(default_factory=RequestLogOptions)
    otlp_endpoint: str | None = None
    """Base address of the collector of traces; None for no traces."""
    memory_budget_bytes: int | None = None
    """The router's memory budget, which metrics report."""


class Telemetry:
    """Records the engine, through `engine_metrics`, and the application, through `surround`."""

    def __init__(self, options: TelemetryOptions = TelemetryOptions(), tracing: Tracing = NO_TRACING) -> None:
        """Start with empty counters.

        Args:
            options: what to record.
            tracing: records requests and the engine's work for them.
        """
        self._options = options
        self._tracing = tracing
        self.requests = RequestCounters()
        self.workers = WorkerCounters()
        self._engine = EngineMetricsCollector(tracing)

    @classmethod
    def open(cls, options: TelemetryOptions) -> "Telemetry":
        """Create it with traces, if the options enable them.

        Raises:
            TracingError: traces are not available.
        """
        return cls(options, open_tracing(options.otlp_endpoint))

    @property
    def engine_metrics(self) -> EngineMetrics:
        """The metrics to open the router with."""
        return self._engine

    def error_forms(self, others: Iterable[ErrorForm]) -> ErrorForms:
        """Return error forms that count the errors."""
        return ErrorForms(tuple(others), self.requests.rejections.add)

    def routes(self, inference: Inference, authenticator: Authenticator) -> APIRouter:
        """Return the route of the metrics, if anybody may read them."""
        return metrics_routes(self.metrics(inference), authenticator, self._options.metrics)

    def metrics(self, inference: Inference) -> Metrics:
        """Return the metrics of a server; each read returns its current state."""

        def look() -> ServerState:
            router = inference.router
            models = router.models()
            return ServerState(
                is_ready=inference.is_ready,
                num_models=len(models),
                open_models=Counter(model.kernels for model in models if model.kernels is not None),
                memory_bytes=router.used_bytes,
                queue=router.queue(),
            )

        return Metrics(self._engine, self.requests, self.workers, look, self._options.memory_budget_bytes)

    def surround(self, app: FastAPI) -> None:
        """Add the telemetry middleware; call this after all other middleware is added."""
        app.add_middleware(self._tracing.surround)
        app.add_middleware(TelemetryMiddleware, counters=self.requests, options=self._options.lines)

    def close(self) -> None:
        """Send the remaining traces; call this when the server has stopped."""
        self._tracing.close()
