"""The command line: translate, serve, models, info."""

import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from tqdm import tqdm

from dragoman import DecodingOptions, DragomanError, Translator
from dragoman.bundle import read_bundle
from dragoman.cpus import available_cpus
from dragoman.providers import parse_providers
from dragoman.translator import READ_AHEAD_TEXTS
from service.bundles import Listing, find_bundle, list_bundles, size_bytes
from service.lines import ManyTranslator, UndecodableLineError, translate_lines
from service.settings import Settings, SettingsError, load_settings
from service.versions import installed_version

EXIT_INCOMPLETE = 1
EXIT_FAILED = 2
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE
STDIN = Path("-")
DEFAULTS = DecodingOptions()

app = typer.Typer(
    name="dragoman",
    help="A self-hosted translation server: text in, text out.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="DIR|NAME", help="A bundle's folder, or its name in the models folder."),
]
ProvidersOption = Annotated[
    str | None,
    typer.Option(
        "--providers",
        metavar="NAME[,NAME...]",
        help="cpu, cuda or tensorrt; of several, the most wanted first.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings in TOML; options and environment win."),
]


def main() -> None:
    """Run a command; what the user or operator can mend is said in one line, without a traceback."""
    try:
        app(prog_name="dragoman")
    except (DragomanError, SettingsError, UndecodableLineError, OSError) as error:
        print(f"dragoman: {error}", file=sys.stderr)  # noqa: T201 -- a command speaks on stderr
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
    """A self-hosted translation server: text in, text out."""


@app.command()
def translate(  # noqa: PLR0913 -- the command's options
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="UTF-8 text; stdin when absent or -.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; stdout when absent."),
    ] = None,
    model: ModelOption = None,
    providers: ProvidersOption = None,
    beam_size: Annotated[int, typer.Option(help="1 is greedy search.")] = DEFAULTS.beam_size,
    length_penalty: Annotated[
        float, typer.Option(help="More favours longer translations.")
    ] = DEFAULTS.length_penalty,
    max_length: Annotated[int | None, typer.Option(help="Most target tokens of a segment.")] = None,
    use_shortlist: Annotated[
        bool,
        typer.Option("--shortlist/--no-shortlist", help="Look only at target tokens the source suggests."),
    ] = DEFAULTS.use_shortlist,
    config: ConfigOption = None,
) -> None:
    """Translate line by line: the n-th line out is the translation of the n-th line in.

    A line that cannot be translated is written unchanged and reported on stderr; the exit status is then 1.
    """
    options = DecodingOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_length=max_length,
        return_scores=False,
        use_shortlist=use_shortlist,
    )
    settings = load_settings(config, {"model": model, "providers": providers})
    with ExitStack() as opened:
        source = sys.stdin.buffer if file is None or file == STDIN else opened.enter_context(file.open("rb"))
        translator = opened.enter_context(_open_translator(settings))
        target = opened.enter_context(_open_output(output, source))
        is_complete = _write_lines(translator, source, target, options)
    if not is_complete:
        raise typer.Exit(EXIT_INCOMPLETE)


@app.command()
def serve(  # noqa: PLR0913 -- the command's options
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    model: ModelOption = None,
    replicas: Annotated[
        int | None, typer.Option(help="Searches that run at the same time; by default one for each CPU.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads inside one replica.")] = None,
    providers: ProvidersOption = None,
    log_level: Annotated[str | None, typer.Option(help="critical, error, warning, info or debug.")] = None,
    config: ConfigOption = None,
) -> None:
    """Serve translations over HTTP until told to stop."""
    overrides = {
        "host": host,
        "port": port,
        "model": model,
        "replicas": replicas,
        "threads": threads,
        "providers": providers,
        "log_level": log_level,
    }
    settings = load_settings(config, overrides)
    from service import server  # noqa: PLC0415 -- the web framework would double the start of every other command

    server.serve(settings)


@app.command()
def models(*, config: ConfigOption = None) -> None:
    """List the bundles in the models folder and verify their files; exit status 1 if one is bad."""
    models_dir = load_settings(config).models_dir
    if not models_dir.is_dir():
        raise SettingsError(f"models_dir: there is no folder {models_dir}")
    listings = list_bundles(models_dir)
    header = ("NAME", "PAIR", "PRECISION", "SIZE", "VERIFIED")
    _print_table([header, *(_table_row(listing) for listing in listings)])
    bad = [listing for listing in listings if listing.problems]
    for listing in bad:
        for problem in listing.problems:
            typer.echo(f"{listing.name}: {problem}", err=True)
    if bad:
        raise typer.Exit(EXIT_INCOMPLETE)


@app.command()
def info(*, model: ModelOption = None, config: ConfigOption = None) -> None:
    """Show the versions that run here and the facts of a bundle."""
    settings = load_settings(config, {"model": model})
    rows = [
        ("dragoman", installed_version("dragoman")),
        ("onnxruntime", installed_version("onnxruntime")),
        ("onnxruntime-gpu", installed_version("onnxruntime-gpu")),
        ("python", platform.python_version()),
        ("cpus", str(available_cpus())),
    ]
    _print_table(rows)
    path = find_bundle(settings.model, settings.models_dir)
    manifest = read_bundle(path).manifest
    facts = [
        ("model", manifest.name),
        ("folder", str(path)),
        ("pair", f"{manifest.source_language} -> {manifest.target_language}"),
        ("precision", manifest.precision),
        ("size", _megabytes(size_bytes(manifest))),
        ("format version", str(manifest.format_version)),
        ("decoder layers", str(manifest.sizes.decoder_layers)),
        ("heads", f"{manifest.sizes.heads} of {manifest.sizes.head_size}"),
        ("vocabulary", f"{manifest.sizes.source_vocab} source, {manifest.sizes.target_vocab} target pieces"),
        (
            "segment limits",
            f"{manifest.limits.max_source_tokens} source, {manifest.limits.max_target_tokens} target tokens",
        ),
        ("licence", manifest.licence),
        *((f"origin: {name}", str(value)) for name, value in manifest.origin.items()),
        *((f"score: {name}", str(value)) for name, value in manifest.scores.items()),
    ]
    _print_table(facts)


def _open_translator(settings: Settings) -> Translator:
    path = find_bundle(settings.model, settings.models_dir)
    return Translator.open(
        path,
        replicas=settings.replicas,
        threads=settings.threads,
        providers=parse_providers(settings.providers),
    )


def _open_output(output: Path | None, source: BinaryIO) -> BinaryIO:
    """Open for writing, unless that would empty the very file that is still to be read."""
    if output is None:
        # Not sys.stdout.buffer: with PYTHONUNBUFFERED it writes line by line, and may write only a part.
        return open(sys.stdout.fileno(), "wb", closefd=False)
    if output.is_file() and os.path.samestat(output.stat(), os.fstat(source.fileno())):
        raise typer.BadParameter(f"{output} is the input as well", param_hint="--output")
    return output.open("wb")


def _write_lines(
    translator: ManyTranslator, source: BinaryIO, target: BinaryIO, options: DecodingOptions
) -> bool:
    """Translate all lines; whether every one of them could be."""
    is_interactive = target.isatty() or source.isatty()
    is_complete = True
    # Somebody who types a line waits for its answer.
    read_ahead = 1 if source.isatty() else READ_AHEAD_TEXTS
    bar = tqdm(unit=" lines", file=sys.stderr, disable=is_interactive or not sys.stderr.isatty())
    try:
        with bar, _flushed(target):
            for line in translate_lines(translator, source, options, read_ahead):
                target.write(line.content)
                if is_interactive:
                    target.flush()
                if line.problem is not None:
                    is_complete = False
                    bar.write(
                        f"dragoman: line {line.number}: {line.problem}; left as it was", file=sys.stderr
                    )
                if line.is_cut:
                    bar.write(
                        f"dragoman: line {line.number}: reached the length limit and may be incomplete",
                        file=sys.stderr,
                    )
                bar.update()
    except BrokenPipeError:
        # The reader has seen enough. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
        raise typer.Exit(EXIT_BROKEN_PIPE) from None
    return is_complete


@contextmanager
def _flushed(target: BinaryIO) -> Iterator[None]:
    """However the block ends, lines already written reach the target, and a full disk is an error in time."""
    try:
        yield
    finally:
        target.flush()


def _table_row(listing: Listing) -> tuple[str, ...]:
    verified = "no" if listing.problems else "yes"
    if listing.bundle is None:
        return (listing.name, "-", "-", "-", verified)
    manifest = listing.bundle.manifest
    pair = f"{manifest.source_language} -> {manifest.target_language}"
    return (listing.name, pair, manifest.precision, _megabytes(size_bytes(manifest)), verified)


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
