"""Routes about the server's health, for load balancers and monitoring."""

from fastapi import APIRouter

from service.api.native.responses import Status
from service.api.readiness import Readiness
from service.http.errors import ErrorKind
from service.http.openapi import describe_route, error_responses, operation_id


def health_routes(readiness: Readiness) -> APIRouter:
    """Return the health routes."""
    router = APIRouter(tags=["health"], generate_unique_id_function=operation_id)

    @router.get("/healthz", **describe_route("Whether the process is alive", "The process is alive"))
    async def healthz() -> Status:
        """Return 200 even while a model is loading or busy; this says nothing about the models."""
        return Status(status="alive")

    @router.get(
        "/readyz",
        **describe_route(
            "Whether the server accepts requests",
            "Every model that is loaded at the start has translated a warm-up sentence",
            responses=error_responses([ErrorKind.NOT_READY]),
        ),
    )
    async def readyz() -> Status:
        """Return 200 while load balancers should send requests here.

        The server is not ready until the models loaded at the start have translated a warm-up sentence, while
        the queue is nearly full, while a job worker is stuck, and when it stops.
        """
        readiness.require()
        return Status(status="ready")

    return router
