"""Routes that list the models and their languages, and one that looks for new models."""

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from dragoman.manifest import ModelLimits, Sizes
from dragoman.routing.bundle_scan import ReloadReport
from dragoman.routing.memory import size_bytes
from dragoman.routing.router import ModelInfo
from dragoman.routing.routes import Route, RouteKind, Routes
from service.accounts.keys import Scope
from service.api.languages import RoutesCache
from service.api.model_list import ModelList, listed_models
from service.api.services import Services
from service.http import openapi
from service.http.errors import ErrorKind
from service.http.fields import NoFields, read_url

RouteKindName = Literal["direct", "multilingual", "pivot"]


class ModelOut(BaseModel):
    """A served model, as its manifest describes it."""

    name: str
    folder: str = Field(description="Unique name of its folder; `model` of a request may be this or `name`.")
    source: str | None = Field(description="Source language; null if there are several.")
    target: str | None = Field(description="Target language; null if there are several.")
    sources: list[str] = Field(description="Source languages.")
    targets: list[str] = Field(description="Target languages, each possible for every source.")
    precision: str = Field(description="Precision of the weights, as in `int8`.")
    limits: ModelLimits = Field(
        description="Limits of one segment in tokens; longer texts are split into segments."
    )
    sizes: Sizes = Field(description="The graphs' dimensions.")
    size_bytes: int = Field(description="Size of all files of the bundle.")
    is_loaded: bool = Field(description="Whether the model is in memory.")
    memory_bytes: int = Field(description="Estimated memory of the loaded model.")
    kernels: str | None = Field(
        description="What computes the loaded model: `onnxruntime`, or the engine's own kernels for the "
        "processor, such as `avx2`; null if it is not loaded."
    )
    why_not_native: str | None = Field(
        description="Why the engine's own kernels do not compute the loaded model; null if they do, or if "
        "the setting `kernels` is `onnxruntime`."
    )
    readings: list[str] = Field(
        description="What the model reads in place of a text as it is written, such as `numbers_in_words`."
    )
    licence: str = Field(description="Licence of the weights.")
    scores: dict[str, Any] = Field(description="Measured quality, by test set.")


class ModelsResponse(ModelList):
    """The served models, and in `data` the names that chats may have, for OpenAI's clients."""

    models: list[ModelOut]


class ReachOut(openapi.DocumentedModel):
    """Target languages that the same models reach."""

    way: RouteKindName
    """`direct`: a model of this pair alone. `multilingual`: a model of several pairs. `pivot`: two models
    with a pivot language."""
    models: list[str]
    """Names of the models, in the order in which a text passes through them."""
    targets: list[str]
    """Target languages."""
    formality: list[str]
    """Those of `targets` for which `formality` may be requested."""


class LanguageOut(openapi.DocumentedModel):
    """A source language with its targets."""

    source: str
    """Source language."""
    reaches: list[ReachOut]
    """Target languages, by the models that reach them."""


class LanguagesResponse(openapi.DocumentedModel):
    """The target languages of each source language, and the models between them."""

    languages: list[LanguageOut]


class FolderProblems(openapi.DocumentedModel):
    """A folder that cannot be served."""

    folder: str
    problems: list[str]
    """Reasons, each with the file or field."""


class ReloadResponse(openapi.DocumentedModel):
    """Changes found by a new scan of the model folders, as names of folders."""

    added: list[str]
    changed: list[str]
    """Reloaded on their next use; requests in progress finish with the old version."""
    removed: list[str]
    problems: list[FolderProblems]
    """Folders that cannot be served; a version that is already loaded stays in use."""


def _present_model(model: ModelInfo) -> ModelOut:
    manifest = model.manifest
    sources, targets = list(manifest.languages.sources), list(manifest.languages.targets)
    return ModelOut.model_validate(
        {
            **openapi.equal_fields(ModelOut, model, manifest),
            "folder": model.offer.name,
            "source": sources[0] if len(sources) == 1 else None,
            "target": targets[0] if len(targets) == 1 else None,
            "sources": sources,
            "readings": list(model.offer.reading.names),
            "targets": targets,
            "size_bytes": size_bytes(manifest),
            "is_loaded": model.is_open,
            "why_not_native": model.why_not_native or None,
        }
    )


def present_languages(routes: Routes) -> LanguagesResponse:
    """Return all pairs that are served; for hundreds of languages this takes a moment."""
    return LanguagesResponse(
        languages=[
            LanguageOut(source=source, reaches=_reaches(routes, source)) for source in routes.sources()
        ]
    )


def _reaches(routes: Routes, source: str) -> list[ReachOut]:
    reached: dict[tuple[RouteKind, tuple[str, ...]], list[tuple[str, Route]]] = {}
    for target, route in routes.all_from(source):
        titles = tuple(step.offer.title for step in route.steps)
        reached.setdefault((route.way, titles), []).append((target, route))
    return [
        ReachOut.model_validate(
            {
                "way": way.name.lower(),
                "models": titles,
                "targets": [target for target, _ in found],
                "formality": [target for target, route in found if route.knows_formality],
            }
        )
        for (way, titles), found in sorted(reached.items())
    ]


def present_reload(report: ReloadReport) -> ReloadResponse:
    """Return the changes of a reload in the API's form."""
    problems = [{"folder": folder, "problems": found} for folder, found in report.problems.items()]
    changes = openapi.equal_fields(ReloadResponse, report)
    return ReloadResponse.model_validate({**changes, "problems": problems})


def model_routes(services: Services) -> APIRouter:
    """Return the routes about models; the lists may need a key, and any key will do."""
    inference, authenticator = services.translation_service.inference, services.authenticator
    requires_key = services.settings.discovery_access == "key"
    routes = APIRouter(tags=["models"])
    errors = openapi.error_responses(openapi.KEY_ERRORS if requires_key else [ErrorKind.INTERNAL])
    with_key = openapi.WITH_KEY if requires_key else ()
    languages = RoutesCache(inference, present_languages)

    @routes.get(
        "/models",
        dependencies=with_key,
        **openapi.describe_route("List the models", "Each as its manifest describes it", responses=errors),
    )
    async def list_models(connection: Request) -> ModelsResponse:
        """Return languages, limits, measured quality and licence of each model, and whether it is loaded."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        models = list(map(_present_model, inference.router.models()))
        return ModelsResponse(data=listed_models(inference.router.routes), models=models)

    @routes.get(
        "/languages",
        dependencies=with_key,
        **openapi.describe_route(
            "List the language pairs",
            "The targets of each source language, with their models",
            responses=errors,
        ),
    )
    async def list_languages(connection: Request) -> LanguagesResponse:
        """List each source's targets: by a model for the pair, a multilingual one, or two through a third."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        return await languages.current()

    if services.settings.reload_endpoint:

        @routes.post(
            "/models/reload",
            dependencies=openapi.WITH_KEY,
            **openapi.describe_route(
                "Look for new, changed and removed models",
                "What has changed",
                responses=openapi.error_responses(
                    [*openapi.KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE]
                ),
                request=dict(openapi.WITHOUT_KEY),
            ),
        )
        async def reload_models(connection: Request) -> ReloadResponse:
            """Scan the models' folders. Requests in progress finish with the models they began with."""
            if authenticator.accounts.requires_key:
                await authenticator.authenticate_header(connection, Scope.ADMIN)
            read_url(connection, NoFields)
            return present_reload(await services.watcher.look())

    return routes
