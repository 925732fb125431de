"""Responses about models, the languages that they connect, and reloads."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field

from dragoman.manifest import ModelLimits, Sizes
from dragoman.routing.bundle_scan import ReloadReport
from dragoman.routing.memory import size_bytes
from dragoman.routing.router import Model
from dragoman.routing.routes import RouteKind, Routes

RouteKindName = Literal["direct", "multilingual", "pivot"]
ROUTE_KIND_NAMES: dict[RouteKind, RouteKindName] = {
    RouteKind.DIRECT: "direct",
    RouteKind.MULTILINGUAL: "multilingual",
    RouteKind.PIVOT: "pivot",
}


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
    licence: str = Field(description="Licence of the weights.")
    scores: dict[str, Any] = Field(description="Measured quality, by test set.")


class ModelsResponse(BaseModel):
    """The served models."""

    models: list[ModelOut]


class ReachOut(BaseModel):
    """Target languages that the same models reach."""

    way: RouteKindName = Field(
        description="`direct`: a model of this pair alone. `multilingual`: a model of "
        "several pairs. `pivot`: two models with a pivot language."
    )
    models: list[str] = Field(
        description="Names of the models, in the order in which a text passes through them."
    )
    targets: list[str] = Field(description="Target languages.")


class LanguageOut(BaseModel):
    """A source language with its targets."""

    source: str = Field(description="Source language.")
    reaches: list[ReachOut] = Field(description="Target languages, by the models that reach them.")


class LanguagesResponse(BaseModel):
    """The target languages of each source language, and the models between them."""

    languages: list[LanguageOut]


class FolderProblems(BaseModel):
    """A folder that cannot be served."""

    folder: str
    problems: list[str] = Field(description="Reasons, each with the file or field.")


class ReloadResponse(BaseModel):
    """Changes found by a new scan of the model folders, as names of folders."""

    added: list[str]
    changed: list[str] = Field(
        description="Reloaded on their next use; requests in progress finish with the old version."
    )
    removed: list[str]
    problems: list[FolderProblems] = Field(
        description="Folders that cannot be served; a version that is already loaded stays in use."
    )


def present_models(models: Iterable[Model]) -> ModelsResponse:
    """Return models in the API's form."""
    return ModelsResponse(models=[_present_model(model) for model in models])


def _present_model(model: Model) -> ModelOut:
    manifest = model.manifest
    sources, targets = list(manifest.languages.sources), list(manifest.languages.targets)
    return ModelOut(
        name=manifest.name,
        folder=model.offer.name,
        source=sources[0] if len(sources) == 1 else None,
        target=targets[0] if len(targets) == 1 else None,
        sources=sources,
        targets=targets,
        precision=manifest.precision,
        limits=manifest.limits,
        sizes=manifest.sizes,
        size_bytes=size_bytes(manifest),
        is_loaded=model.is_open,
        memory_bytes=model.memory_bytes,
        licence=manifest.licence,
        scores=dict(manifest.scores),
    )


def present_languages(routes: Routes) -> LanguagesResponse:
    """Return all pairs that are served; for hundreds of languages this takes a moment."""
    return LanguagesResponse(
        languages=[
            LanguageOut(source=source, reaches=_reaches(routes, source)) for source in routes.sources()
        ]
    )


def _reaches(routes: Routes, source: str) -> list[ReachOut]:
    targets: dict[tuple[RouteKind, tuple[str, ...]], list[str]] = {}
    for target, route in routes.all_from(source):
        titles = tuple(step.offer.title for step in route.steps)
        targets.setdefault((route.way, titles), []).append(target)
    return [
        ReachOut(way=ROUTE_KIND_NAMES[way], models=list(titles), targets=targets[way, titles])
        for way, titles in sorted(targets)
    ]


def present_reload(report: ReloadReport) -> ReloadResponse:
    """Return the changes of a reload in the API's form."""
    return ReloadResponse(
        added=list(report.added),
        changed=list(report.changed),
        removed=list(report.removed),
        problems=[
            FolderProblems(folder=folder, problems=list(problems))
            for folder, problems in report.problems.items()
        ],
    )
