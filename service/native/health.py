"""How the server is: for load balancers and whoever watches it."""

from fastapi import APIRouter

from service.front.errors import ErrorKind, document_errors
from service.front.readiness import Readiness
from service.native.responses import Status


def health_routes(readiness: Readiness) -> APIRouter:
    """How the server is."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the process is alive", response_description="It is")
    async def healthz() -> Status:
        """Answers while a model is loaded or busy; says nothing about it."""
        return Status(status="alive")

    @router.get(
        "/readyz",
        summary="Whether the server can take more",
        response_description="Every model that is loaded at the start has translated a warm-up sentence",
        responses=document_errors(
            {ErrorKind.NOT_READY: "One has not done so yet, the queue is nearly full, or the server stops"}
        ),
    )
    async def readyz() -> Status:
        """For load balancers: send requests only while this is 200."""
        readiness.require()
        return Status(status="ready")

    return router
