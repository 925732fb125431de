"""Telemetry of a server: metrics, traces and request logs, created once per process."""

from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from anyio import sleep
from fastapi import APIRouter, FastAPI, Request
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response

from service.accounts.keys import Scope
from service.http.authentication import Authenticator
from service.http.openapi import KEY_ERRORS, WITH_KEY, describe_route, error_responses
from service.http.telemetry_middleware import TelemetryMiddleware
from service.settings.settings import Settings
from service.telemetry.counters import EngineMetricsCollector, RequestCounters, WorkerCounters
from service.telemetry.metrics import Metrics, ServerState
from service.telemetry.process_metrics import ProcessMetrics
from service.telemetry.tracing import NO_TRACING, Tracing
from service.translation.inference import Inference
from service.work.threads import run_in_thread

WRITE_S = 5.0
"""Seconds between two writes of the metrics of a process: what it loses when it is killed."""
ServerMetrics = Metrics | ProcessMetrics


def metrics_routes(metrics: ServerMetrics, authenticator: Authenticator, settings: Settings) -> APIRouter:
    """Return the route `GET /metrics`; none if access is off."""
    routes = APIRouter(tags=["health"])
    if settings.metrics_access == "off":
        return routes
    requires_key = settings.metrics_access == "key"

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


async def keep_writing(metrics: ServerMetrics) -> None:
    """Write the metrics of one of several processes for the others, until cancelled."""
    while isinstance(metrics, ProcessMetrics):
        with suppress(OSError):  # a request for metrics reports it
            await run_in_thread(metrics.write)
        await sleep(WRITE_S)


class Telemetry:
    """Records the engine, through `engine_metrics`, and the application, through `surround`."""

    def __init__(self, tracing: Tracing = NO_TRACING) -> None:
        """Start with empty counters.

        Args:
            tracing: records requests and the engine's work for them.
        """
        self.tracing = tracing
        self.requests = RequestCounters()
        self.workers = WorkerCounters()
        self.engine_metrics = EngineMetricsCollector(tracing)
        self._of_all: partial[ProcessMetrics] | None = None

    def share(self, folder: Path, number: int) -> None:
        """Expose the metrics of several processes; see `ProcessMetrics` for the arguments."""
        self._of_all = partial(ProcessMetrics, folder=folder, number=number)

    def metrics(self, inference: Inference, memory_budget_bytes: int | None = None) -> ServerMetrics:
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

        own = Metrics(self.engine_metrics, self.requests, self.workers, look, memory_budget_bytes)
        return own if self._of_all is None else self._of_all(own)

    def surround(self, app: FastAPI, settings: Settings) -> None:
        """Add the telemetry middleware; call this after all other middleware is added."""
        app.add_middleware(self.tracing.surround)
        app.add_middleware(TelemetryMiddleware, counters=self.requests, settings=settings)
