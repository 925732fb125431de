"""`dragoman models`: the bundles that the settings name."""

from typing import Annotated

import typer

from dragoman.bundle import read_bundle
from service.cli import options as cli_options
from service.cli.exit_status import EXIT_INCOMPLETE
from service.cli.tables import print_bundles, print_languages
from service.models.engine import find_bundle, list_bundles
from service.settings.settings import SettingsError, load_settings

app = cli_options.new_command()


@app.command()
def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Bundle whose languages to list.")
    ] = None,
    *,
    config: cli_options.ConfigOption = None,
) -> None:
    """List the bundles in the models folder, and those that are bundled, and verify their files.

    The exit status is 1 if a bundle is invalid.
    """
    folders = load_settings(config).model_folders
    if name is not None:
        print_languages(read_bundle(find_bundle(name, folders)).manifest.languages)
        return
    if not folders.exists:
        raise SettingsError(f"models_dir: folder {folders} not found")
    if not print_bundles(list_bundles(folders)):
        raise typer.Exit(EXIT_INCOMPLETE)
