"""`dragoman pull`: download a model that an index names."""

from typing import Annotated

import typer
from tqdm import tqdm

from service.cli import options as cli_options
from service.models.errors import ModelError
from service.models.index import download, read_index
from service.settings.settings import SettingsError, load_settings

app = cli_options.new_command()


@app.command()
def pull(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Model to download. Default: list the models.")
    ] = None,
    *,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="LOCATION", help="Address or path of the index. Default: the setting model_index."
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a model with the same name.")] = False,
    config: cli_options.ConfigOption = None,
) -> None:
    """Download a model that an index names into the models folder.

    A download that was interrupted continues where it stopped. The model appears only when every file has the
    SHA-256 that the index promises.
    """
    settings = load_settings(config, {"model_index": index})
    if settings.model_index is None:
        raise SettingsError("model_index: name the index with --index, its address or its path")
    found = read_index(settings.model_index)
    if name is None:
        for model in found.models:
            typer.echo(f"{model.name}\t{', '.join(model.pairs)}\t{model.size_bytes} bytes\t{model.licence}")
        return
    model = found.named(name)
    folder = settings.model_folders.own
    if (folder / name).exists() and not replace:
        raise ModelError(f"{name} exists; remove its folder, or use --replace")
    with tqdm(total=model.size_bytes, unit="B", unit_scale=True, desc=name, disable=None) as bar:
        bundle = download(settings.model_index, model, folder, bar.update)
    typer.echo(bundle)
