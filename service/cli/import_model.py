"""`dragoman import`: convert a model of another toolkit to a bundle in the models folder."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from dragoman.errors import BundleError
from service.cli import options as cli_options
from service.cli.exit_status import EXIT_FAILED
from service.models.registries import read_pair
from service.settings.groups import split_names
from service.settings.settings import SettingsError, load_settings

app = cli_options.new_command()


@app.command()
def import_model(  # noqa: PLR0913 -- the command's options
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="firefox:SOURCE-TARGET, argos:SOURCE-TARGET or opus:SOURCE-TARGET, several with commas, or "
            "SOURCE-TARGET to list what these have; OWNER/NAME on the Hugging Face hub, a folder, a .zip or "
            "a .tar.gz with an OPUS-MT, Marian, M2M-100, NLLB, mBART, CTranslate2 or Bergamot model; an "
            ".argosmodel; or LibreTranslate's or Argos Translate's data folder, whose packages are all "
            "imported.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Name of the bundle. Default: the language pair, or the model's name if it has several.",
        ),
    ] = None,
    *,
    source: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGES", help="Source languages, such as de,fr. Default: the model's."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGES", help="Target languages, such as en. Default: the model's."),
    ] = None,
    precision: Annotated[str, typer.Option(help="int8 for CPUs, fp16 for GPUs, or fp32.")] = "int8",
    sentences: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="200 or more sentences in the first source language, one per line. Default: built-in German "
            "and English, generated text for other languages.",
        ),
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="Licence of the weights. Default: the one in the model's files.")
    ] = None,
    reading: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="reading.toml: what the model reads in place of texts. Default: texts as they are written.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a bundle with the same name.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Compare the bundle with the model in PyTorch, too.")
    ] = False,
    registry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOCATION",
            help="Address or file of a registry, as in firefox=records.json; may be repeated.",
        ),
    ] = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Convert a model of another toolkit to a bundle in the models folder.

    Nothing in the model's files is run. The bundle is compared with the model before it is put in place.
    """
    try:
        from export.bundle import ExportError  # noqa: PLC0415 -- needs an extra
        from export.checkpoint_folder import CheckpointError  # noqa: PLC0415
        from export.graph.precision import PRECISIONS  # noqa: PLC0415
        from export.original import ImportRejectedError, RequestedLanguages  # noqa: PLC0415
        from export.run import ExportOptions, export_model  # noqa: PLC0415
        from service.cli.import_sources import chosen_models, list_published, read_locations  # noqa: PLC0415
    except ModuleNotFoundError as error:
        problem = f"import: {error.name} is not installed; install dragoman[export]"
        raise SettingsError(problem) from error
    if precision not in PRECISIONS:
        raise SettingsError(f"--precision: {precision} is not one of {', '.join(PRECISIONS)}")
    settings = load_settings(config)
    locations = read_locations(registry or ())
    if not Path(model).exists() and (pair := read_pair(model)) is not None:
        list_published(pair, locations)
        return
    options = ExportOptions(
        model=model,
        folder=settings.model_folders.own,
        is_parent=True,
        replaces=replace,
        precision=precision,
        name=name,
        languages=RequestedLanguages(split_names(source or ""), split_names(target or "")),
        licence=licence,
        reading=reading,
        sentences=sentences,
        with_pytorch=prove,
    )
    with TemporaryDirectory() as folder:
        try:
            models, problems = chosen_models(options, locations, Path(folder))
        except ImportRejectedError as error:
            raise SettingsError(f"import: {error}") from error
        for each in models:
            try:
                bundle = export_model(each, lambda message: typer.echo(message, err=True))
            except (ExportError, ImportRejectedError, CheckpointError, BundleError) as error:
                problems.append(f"import: {error}")
            else:
                typer.echo(bundle)
    _report(problems)


def _report(problems: Sequence[str]) -> None:
    """End with all problems, if there are any."""
    for problem in problems:
        typer.echo(f"dragoman: {problem}", err=True)
    if problems:
        raise typer.Exit(EXIT_FAILED)
