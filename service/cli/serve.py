"""`dragoman serve`: the server."""

import gc
from pathlib import Path
from typing import Annotated

import typer

from service.cli import options as cli_options
from service.cli.help import settings_help
from service.settings.settings import read_settings

app = cli_options.new_command()


@app.command(epilog=settings_help())
def serve(  # noqa: PLR0913 -- the command's options
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    uds: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Unix socket to listen on, instead of a port.")
    ] = None,
    root_path: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="Path prefix under which a proxy publishes the server."),
    ] = None,
    model: cli_options.ModelOption = None,
    replicas: Annotated[
        int | None,
        typer.Option(help="Number of concurrent searches. Default: CPUs divided by --threads; 1 on a GPU."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads per replica.")] = None,
    processes: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|auto", help="Number of server processes; `auto`: one for each 4 CPUs."),
    ] = None,
    providers: cli_options.ProvidersOption = None,
    kernels: cli_options.KernelsOption = None,
    watch_s: Annotated[
        float | None,
        typer.Option(
            "--watch",
            metavar="SECONDS",
            help="Time between scans for new and changed bundles; 0 disables them.",
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(help="Minimum severity that is logged: critical, error, warning, info or debug."),
    ] = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Serve translations over HTTP until stopped."""
    given = dict(locals())  # each option but --config is called as its setting
    settings = read_settings(given.pop("config"), given)
    gc.disable()  # until the server listens: modules are no garbage, and collections would take 0.15 s
    from service.server import server  # noqa: PLC0415 -- help and wrong settings do not wait for the web framework

    server.serve(settings)
