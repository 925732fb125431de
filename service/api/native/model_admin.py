"""Routes that list, download and remove models; only keys with the scope `admin` may use them."""

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict

from dragoman.routing.memory import size_bytes
from dragoman.routing.router import ModelInfo
from service.accounts.keys import Caller, Scope
from service.api.native.models import FolderProblems, present_problems
from service.api.native.owner_access import WRITE_ERRORS
from service.http import openapi
from service.http.errors import ErrorBody, ErrorKind, SafeJSONResponse, describe_error
from service.http.fields import reject_query
from service.http.json_route import AuthenticatedRequest, JsonRoute
from service.model_admin import DownloadState, ModelDownload
from service.model_index import ModelName
from service.services import Services

PATH = "/admin/models"
NAME = openapi.path_parameter("name", "Name of the model's folder.")
READ_ERRORS = (*openapi.KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE)


class DownloadModelRequest(openapi.DocumentedModel):
    """A model to download."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"name": "fr-en", "replace": False}]}
    )

    name: ModelName
    """Name of the model in the index of the setting `model_index`."""
    replace: bool = False
    """Whether to replace a model of this name in the models folder."""


class ManagedModelOut(openapi.DocumentedModel):
    """A model that is served."""

    name: str
    """Name of its folder."""
    title: str
    """Name in its manifest."""
    origin: Literal["own", "bundled"]
    """`own` ones can be removed, `bundled` ones not."""
    size_bytes: int
    """Size of all files of the bundle."""
    is_loaded: bool
    """Whether the model is in memory."""


class ModelDownloadOut(openapi.DocumentedModel):
    """A download since the server's start, and how far it is."""

    name: str
    state: DownloadState
    """`running`, `done` (the model is served) or `failed`."""
    received_bytes: int
    """Bytes that have arrived, also in earlier attempts."""
    size_bytes: int
    """Size of all files, as the index has it."""
    error: ErrorBody | None
    """Why it failed; null otherwise."""


class ManagedModelsResponse(openapi.DocumentedModel):
    """The models, the folders that cannot be served, and the downloads."""

    models: list[ManagedModelOut]
    problems: list[FolderProblems]
    downloads: list[ModelDownloadOut]
    """The last download of each model."""


def model_admin_routes(services: Services) -> APIRouter:
    """Return the routes of `/v1/admin/models`; there are none if the settings have no admin API."""
    routes = APIRouter(tags=["admin"], dependencies=openapi.WITH_KEY)
    admin, authenticator = services.model_admin, services.authenticator
    router = services.translation_service.inference.router
    if admin is None:
        return routes

    async def authenticate(connection: Request) -> Caller:
        caller = await authenticator.authenticate_key(connection, Scope.ADMIN)
        reject_query(connection)
        return caller

    class AdminRoute(JsonRoute):
        async def authenticate(self, connection: Request) -> Caller:
            return await authenticate(connection)

    json_routes = APIRouter(route_class=AdminRoute)

    @routes.get(
        PATH,
        **openapi.describe_route(
            "List the models and their downloads",
            "Models, folders that cannot be served, and downloads with their progress",
            responses=openapi.error_responses(READ_ERRORS),
        ),
    )
    async def list_managed_models(connection: Request) -> ManagedModelsResponse:
        """Return all models that are served, and the last download of each model since the server's start."""
        await authenticate(connection)
        return ManagedModelsResponse(
            models=[_present_model(model) for model in router.models()],
            problems=present_problems(router.problems),
            downloads=[_present_download(each) for each in admin.downloads.values()],
        )

    @json_routes.post(
        PATH,
        status_code=202,
        **openapi.describe_route(
            "Download a model",
            "The download, which has begun",
            ModelDownloadOut,
            openapi.error_responses(
                [*WRITE_ERRORS, ErrorKind.NOT_FOUND, ErrorKind.CONFLICT, ErrorKind.OVERLOADED]
            ),
        ),
    )
    async def download_model(request: DownloadModelRequest, _: AuthenticatedRequest) -> Response:
        """Start to download a model of the index; it is served as soon as all its files are verified."""
        started = await admin.start_download(request.name, replaces=request.replace)
        content = _present_download(started).model_dump(mode="json")
        return SafeJSONResponse(content, status_code=202)

    @routes.delete(
        f"{PATH}/{{name}}",
        status_code=204,
        **openapi.describe_route(
            "Remove a model",
            "The model is removed",
            responses=openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND, ErrorKind.CONFLICT]),
            request={"parameters": [NAME]},
        ),
    )
    async def remove_model(connection: Request) -> Response:
        """Remove a model from the models folder. Its running requests finish; new ones do not get it."""
        await authenticate(connection)
        await admin.remove(connection.path_params["name"])
        return Response(status_code=204)

    routes.include_router(json_routes)
    return routes


def _present_model(model: ModelInfo) -> ManagedModelOut:
    return ManagedModelOut(
        name=model.offer.name,
        title=model.offer.title,
        origin="bundled" if model.offer.is_fallback else "own",
        size_bytes=size_bytes(model.manifest),
        is_loaded=model.is_open,
    )


def _present_download(download: ModelDownload) -> ModelDownloadOut:
    error = None if download.error is None else describe_error(download.error)
    return ModelDownloadOut(
        **openapi.equal_fields(ModelDownloadOut, download, download.model) | {"error": error}
    )
