"""Models that `dragoman import` names: in a registry (`firefox:es-en`), in a data folder, or alone."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from tqdm import tqdm

from dragoman.types import Pair
from export.ctranslate2.argos import find_packages
from export.hub import download
from export.original import ImportRejectedError, RequestedLanguages
from export.run import ExportOptions
from service.errors import ServiceError
from service.models import registries
from service.settings.settings import SettingsError


def read_locations(given: Sequence[str]) -> Mapping[str, str]:
    """Return the location of each registry; raise a SettingsError if one that is given is none."""
    locations = dict(registries.REGISTRIES)
    for each in given:
        name, _, location = each.partition("=")
        if name not in registries.REGISTRIES or not location:
            known = " or ".join(f"{one}=LOCATION" for one in registries.REGISTRIES)
            raise SettingsError(f"--registry: {each} must be {known}")
        locations[name] = location
    return locations


def list_published(pair: Pair, locations: Mapping[str, str]) -> None:
    """Print what can be imported for a pair: name, size and licence. A registry that fails is reported."""
    for registry, location in locations.items():
        try:
            found = registries.find_models(registry, location, pair)
        except ServiceError as error:
            typer.echo(f"dragoman: {error}", err=True)
            continue
        for model in found:
            size = "size not stated" if model.size_bytes is None else f"{model.size_bytes} bytes"
            typer.echo(f"{model.name}\t{size}\t{model.licence or 'licence not stated'}")
    names = " or ".join(registries.hub_names(pair))
    typer.echo(f"{registries.OPUS}:{pair.source}-{pair.target}\tif the hub has {names}\tsee its card")


def chosen_models(
    options: ExportOptions, locations: Mapping[str, str], folder: Path
) -> tuple[list[ExportOptions], list[str]]:
    """Return how to export each model that an import names, and what cannot be imported.

    Args:
        options: options of the import.
        locations: of the registries.
        folder: folder to download models into.

    Raises:
        ImportRejectedError: the name of a bundle is given for several, or a folder has no such packages.
        ServiceError: a registry has no such model, or cannot be read.
    """
    model, name = options.model, options.name
    packages = find_packages(Path(model), options.languages)
    named = [] if Path(model).exists() else registries.read_names(model)
    if name is not None and (packages is not None or len(named) > 1):
        raise ImportRejectedError(
            model, (f"has several models, whose bundles are named after their languages, not {name}",)
        )
    if packages is None:
        return _published(named, options, locations, folder) if named else [options], []
    for message in packages.older:
        typer.echo(f"not imported: {message}", err=True)
    by_files = dataclasses.replace(options, languages=RequestedLanguages())
    chosen = [dataclasses.replace(by_files, model=str(each.path)) for each in packages.chosen]
    return chosen, [f"import: {problem}" for problem in packages.rejected]


def _published(
    named: Sequence[tuple[str, Pair]], options: ExportOptions, locations: Mapping[str, str], folder: Path
) -> list[ExportOptions]:
    """Download models into a folder."""
    found: list[ExportOptions] = []
    for registry, pair in named:
        if registry == registries.OPUS:
            found.append(dataclasses.replace(options, model=_hub_model(pair)))
            continue
        models = registries.find_models(registry, locations[registry], pair)
        if len(models) > 1:
            problem = f"{registry} has no model for {pair}; importing those through {registries.PIVOT}"
            typer.echo(f"dragoman: {problem}", err=True)
        for model in models:
            found.append(_downloaded(registry, model, options, folder / str(len(found))))
    return found


def _downloaded(
    registry: str, model: registries.PublishedModel, options: ExportOptions, folder: Path
) -> ExportOptions:
    folder.mkdir()
    with tqdm(total=model.size_bytes, unit="B", unit_scale=True, desc=model.name, disable=None) as bar:
        path = model.download(folder, bar.update)
    pair = RequestedLanguages((model.pair.source,), (model.pair.target,))
    return dataclasses.replace(
        options,
        model=str(path),
        languages=pair if registry == registries.FIREFOX else RequestedLanguages(),
        licence=options.licence or model.licence,
        origin={"registry": model.name, "version": model.version},
    )


def _hub_model(pair: Pair) -> str:
    """Return the first of a pair's names that the hub, or its cache, has."""
    *larger, last = registries.hub_names(pair)
    for name in larger:
        try:
            download(name)
        except ImportRejectedError:
            continue
        return name
    return last
