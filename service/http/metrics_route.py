"""The route of the metrics."""

from typing import Literal

from fastapi import APIRouter, Request
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response

from service.accounts.keys import Scope
from service.http.authentication import Authenticator
from service.http.openapi import KEY_ERRORS, WITH_KEY, error_responses
from service.http.threads import run_in_thread
from service.telemetry.metrics import Metrics

Access = Literal["open", "key", "off"]
"""Who may read metrics: anybody, callers with a key of the scope `admin`, or nobody."""


def metrics_routes(metrics: Metrics, authenticator: Authenticator, access: Access) -> APIRouter:
    """Return the route `GET /metrics`; none if access is off."""
    routes = APIRouter(tags=["health"])
    if access == "off":
        return routes
    requires_key = access == "key"

    @routes.get(
        "/metrics",
        operation_id="metrics",
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={
            200: {
                "description": "All metrics in Prometheus's text format",
                "content": {CONTENT_TYPE_PLAIN_0_0_4: {"schema": {"type": "string"}}},
            },
            **(error_responses(KEY_ERRORS) if requires_key else {}),
        },
        dependencies=WITH_KEY if requires_key else (),
    )
    async def read_metrics(connection: Request) -> Response:
        """Return counts and durations of requests and of the engine; nothing that a client wrote."""
        if requires_key:
            await authenticator.authenticate_key(connection, Scope.ADMIN)
        return Response(await run_in_thread(metrics.exposition), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes
