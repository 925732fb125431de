"""The command line: translate, batch, serve, models, info, keys."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from dragoman import DecodingOptions, DragomanError, InputError, UnsupportedPair
from dragoman.bundle import read_bundle
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router
from dragoman.routing.routes import RouteKind
from service.accounts.errors import AccountsError
from service.cli import options as cli_options
from service.cli.batch import EPILOG as BATCH_EPILOG
from service.cli.batch import batch
from service.cli.help import settings_help
from service.cli.keys import keys
from service.cli.lines import open_output, write_lines
from service.cli.tables import print_bundles, print_facts, print_languages, print_versions
from service.engine import FixedPair, find_bundle, find_models, list_bundles, open_router
from service.formats.entries import FileFormatError
from service.settings import SettingsError, load_settings
from service.telemetry.tracing import TracingError
from service.versions import installed_version

EXPECTED_ERRORS = (
    DragomanError,
    SettingsError,
    AccountsError,
    TracingError,
    FileFormatError,
    OSError,
)
"""Errors that a user or an operator can fix."""
EXIT_INCOMPLETE = 1
EXIT_FAILED = 2
STDIN = Path("-")
DEFAULTS = DecodingOptions()

app = cli_options.new_command_group("dragoman", "Translate text and files, or serve translations over HTTP.")
app.add_typer(keys)
app.command(epilog=BATCH_EPILOG)(batch)


def main() -> None:
    """Run a command; report an error that a user or operator can fix in one line, without a traceback."""
    try:
        app(prog_name="dragoman")
    except EXPECTED_ERRORS as error:
        print(f"dragoman: {error}", file=sys.stderr)  # noqa: T201 -- a command reports on stderr
        sys.exit(EXIT_FAILED)


def _print_version(is_wanted: bool) -> None:  # noqa: FBT001 -- the signature is the library's
    if is_wanted:
        typer.echo(f"dragoman {installed_version('dragoman')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Accept the options that belong to no command."""


@app.command()
def translate(  # noqa: PLR0913 -- the command's options
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="UTF-8 text file. Default: stdin, as with -.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Output file. Default: stdout."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE", help="Language of the text, such as de; needed if several are possible."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Language to translate into; needed if several are possible."),
    ] = None,
    model: cli_options.ModelOption = None,
    providers: cli_options.ProvidersOption = None,
    beam_size: cli_options.BeamSizeOption = DEFAULTS.beam_size,
    length_penalty: cli_options.LengthPenaltyOption = DEFAULTS.length_penalty,
    early_stopping: Annotated[
        bool | None,
        typer.Option(
            "--early-stopping/--no-early-stopping",
            help="End a search once as many hypotheses as the beam size are finished. Default: the model's.",
        ),
    ] = DEFAULTS.early_stopping,
    max_length: cli_options.MaxLengthOption = None,
    use_shortlist: cli_options.ShortlistOption = DEFAULTS.use_shortlist,
    config: cli_options.ConfigOption = None,
) -> None:
    """Translate a text line by line.

    Output line n is the translation of input line n. A line that cannot be translated is written
    unchanged and reported on stderr; the exit status is then 1.
    """
    options = DecodingOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        early_stopping=early_stopping,
        max_length=max_length,
        return_scores=False,
        use_shortlist=use_shortlist,
    )
    settings = load_settings(config, {"model": model, "providers": providers})
    with ExitStack() as stack:
        lines = sys.stdin.buffer if file is None or file == STDIN else stack.enter_context(file.open("rb"))
        router = stack.enter_context(open_router(settings))
        for name in _route_bundles(router, source, target):
            router.preload([name])  # fail before the output is emptied if one cannot be opened
        target_file = stack.enter_context(open_output(output, lines))
        is_complete = write_lines(FixedPair(router, source, target), lines, target_file, options)
    if not is_complete:
        raise typer.Exit(EXIT_INCOMPLETE)


@app.command(epilog=settings_help())
def serve(  # noqa: PLR0913 -- the command's options
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    model: cli_options.ModelOption = None,
    replicas: Annotated[
        int | None,
        typer.Option(help="Number of concurrent searches. Default: CPUs divided by --threads; 1 on a GPU."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads per replica.")] = None,
    providers: cli_options.ProvidersOption = None,
    watch: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time between scans for new and changed bundles; 0 disables them."
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(help="Minimum severity that is logged: critical, error, warning, info or debug."),
    ] = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Serve translations over HTTP until stopped."""
    overrides = {
        "host": host,
        "port": port,
        "model": model,
        "replicas": replicas,
        "threads": threads,
        "providers": providers,
        "watch_s": watch,
        "log_level": log_level,
    }
    settings = load_settings(config, overrides)
    from service import server  # noqa: PLC0415 -- the web framework would double the start of every other command

    server.serve(settings)


@app.command()
def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Bundle whose languages to list.")
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


@app.command()
def info(*, model: cli_options.ModelOption = None, config: cli_options.ConfigOption = None) -> None:
    """Show the installed versions and the properties of a bundle."""
    settings = load_settings(config, {"model": model})
    print_versions()
    folders = bundle_folders(settings.models_dir) if settings.model is None else find_models(settings)
    if len(folders) != 1:
        names = ", ".join(folders) or "none"
        raise SettingsError(f"model: choose one with --model; models in {settings.models_dir}: {names}")
    for folder in folders.values():
        print_facts(read_bundle(folder))


def _route_bundles(router: Router, source: str | None, target: str | None) -> list[str]:
    """Return the names of the bundles on the route; report a pivot, as its translations are worse.

    Raises:
        UnsupportedPair: names the option at fault.
    """
    try:
        route = router.route(source, target)
    except InputError as error:
        broken_bundles = ", ".join(router.problems)
        hint = f"; cannot be used: {broken_bundles} (`dragoman models` says why)" if broken_bundles else ""
        raise UnsupportedPair(f"--{error.field}", error.problem + hint) from error
    names = [step.offer.name for step in route.steps]
    if route.way is RouteKind.PIVOT:
        pivot = route.steps[0].pair.target
        typer.echo(
            f"dragoman: {route.pair} is translated through {pivot} ({', then '.join(names)})", err=True
        )
    return names
