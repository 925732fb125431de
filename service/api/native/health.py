"""Routes about the server's health, for load balancers and monitoring."""

from fastapi import APIRouter

from service.api.native.examples import ALIVE, READY, shown
from service.api.native.responses import Status
from service.http.errors import ErrorKind
from service.http.openapi_parts import error_responses
from service.readiness import Readiness


def health_routes(readiness: Readiness) -> APIRouter:
    """Return the health routes."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/healthz",
        operation_id="healthz",
        summary="Whether the process is alive",
        response_description="It is",
        responses=shown(ALIVE),
    )
    async def healthz() -> Status:
        """Return 200 even while a model is loading or busy; this says nothing about the models."""
        return Status(status="alive")

    @router.get(
        "/readyz",
        operation_id="readyz",
        summary="Whether the server can take more",
        response_description="Every model that is loaded at the start has translated a warm-up sentence",
        responses={
            **shown(READY),
            **error_responses(
                {
                    ErrorKind.NOT_READY: "One has not done so yet, the queue is nearly full, a job worker is "
                    "stuck, or the server stops"
                }
            ),
        },
    )
    async def readyz() -> Status:
        """Return 200 while load balancers should send requests here."""
        readiness.require()
        return Status(status="ready")

    return router
