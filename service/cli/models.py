"""`dragoman models`: the bundles in the models folder."""

from typing import Annotated

import typer

from dragoman.bundle import read_bundle
from service.cli import options as cli_options
from service.cli.exit_status import EXIT_INCOMPLETE
from service.cli.tables import print_bundles, print_languages
from service.engine import find_bundle, list_bundles
from service.settings import SettingsError, load_settings

app = cli_options.new_command()


@app.command()
def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Bundle whose languages to list.")
    ] = None,
    *,
    config: cli_options.ConfigOption = None,
) -> None:
    """List the bundles in the models folder and verify their files.

    The exit status is 1 if a bundle is invalid.
    """
    models_dir = load_settings(config).models_dir
    if name is not None:
        print_languages(read_bundle(find_bundle(name, models_dir)).manifest.languages)
        return
    if not models_dir.is_dir():
        raise SettingsError(f"models_dir: folder {models_dir} not found")
    if not print_bundles(list_bundles(models_dir)):
        raise typer.Exit(EXIT_INCOMPLETE)
