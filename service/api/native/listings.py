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
    """A model that is served, as its manifest describes it."""

    name: str
    folder: str = Field(
        description="Its folder's name, which no other model has; `model` of a request may be this or `name`."
    )
    source: str | None = Field(description="Language translated from; null if there are several.")
    target: str | None = Field(description="Language translated into; null if there are several.")
    sources: list[str] = Field(description="Languages translated from.")
    targets: list[str] = Field(description="Languages translated into; each source goes with each of them.")
    precision: str = Field(description="Of the weights, as in `int8`.")
    limits: ModelLimits = Field(description="In tokens of one segment; longer texts are cut into segments.")
    sizes: Sizes = Field(description="The graphs' dimensions.")
    size_bytes: int = Field(description="All files of the bundle together.")
    is_loaded: bool = Field(description="Whether it is in memory now.")
    memory_bytes: int = Field(description="Memory that it is reckoned to take when it is loaded.")
    licence: str = Field(description="Of the weights.")
    scores: dict[str, Any] = Field(description="Measured quality, by test set.")


class ModelsResponse(BaseModel):
    """Models that are served."""

    models: list[ModelOut]


class ReachOut(BaseModel):
    """Languages that the same models translate into."""

    way: RouteKindName = Field(
        description="`direct`: a model of this pair alone. `multilingual`: one of several pairs. `pivot`: "
        "two models, through a third language."
    )
    models: list[str] = Field(description="Names of the models, in the order that a text goes through them.")
    targets: list[str] = Field(description="Languages translated into.")


class LanguageOut(BaseModel):
    """A language that something is translated from."""

    source: str = Field(description="Language translated from.")
    reaches: list[ReachOut] = Field(description="What it is translated into.")


class LanguagesResponse(BaseModel):
    """The target languages of each source language, and the models between them."""

    languages: list[LanguageOut]


class FolderProblems(BaseModel):
    """A folder that cannot be served."""

    folder: str
    problems: list[str] = Field(description="Why, each naming a file or field.")


class ReloadResponse(BaseModel):
    """Changes found by another scan of the models' folders; names are those of folders."""

    added: list[str]
    changed: list[str] = Field(description="Loaded anew on their next use; requests under way are finished.")
    removed: list[str]
    problems: list[FolderProblems] = Field(
        description="What cannot be served as it is now; where an older one is loaded, that goes on."
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
