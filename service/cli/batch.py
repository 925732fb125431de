"""`dragoman batch`: translation of files of any size, in common formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman import DecodingOptions
from service.settings import load_settings

EPILOG = """Exit status: 0 all is translated; 1 all is written, but some entries could not be translated
(OUT.errors.jsonl says which and why); 2 refused: files are as they were, and the message says what to do; 3
stopped: the same command with --resume goes on."""


class FailurePolicy(StrEnum):
    """Replacement for entries that could not be translated."""

    SOURCE = "source"
    EMPTY = "empty"


class EngineKind(StrEnum):
    """Place where the engine runs: in this process, or on a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


def batch(  # noqa: PLR0913 -- the command's options
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Files, folders, or patterns in quotes, as in 'texts/**/*.po'. Hidden files are left out.",
        ),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file for a single file, else a folder, in which files have the places that they had.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Of the texts; `auto` detects it for each file."),
    ] = None,
    target: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="To translate into.")] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="DIR|NAME[,...]", help="A bundle's folder, or its name in the models folder."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a table, by name or number, or a key of JSON lines; may be given several times."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run of the same command was stopped.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Begin anew, and replace what is there.")] = False,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Files come from others: read them within the limits of the settings file_memory_bytes, "
            "file_cpu_s and file_timeout_s.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Write nothing; count, and estimate the time from a sample."),
    ] = False,
    on_failure: Annotated[
        FailurePolicy, typer.Option(help="What stands in the place of what could not be translated.")
    ] = FailurePolicy.SOURCE,
    engine: Annotated[
        EngineKind, typer.Option(help="ray: on a cluster, with the extra `ray`.")
    ] = EngineKind.LOCAL,
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Of a cluster, as in HOST:PORT; without it this machine is one."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Engines on the cluster.")] = 1,
    worker_cpus: Annotated[int, typer.Option(min=1, help="CPUs of each engine on the cluster.")] = 1,
    beam_size: Annotated[
        int | None, typer.Option(help="1 is greedy search; the model's own by default.")
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="More favours longer translations; the model's own by default.")
    ] = None,
    max_length: Annotated[int | None, typer.Option(help="Most target tokens of a segment.")] = None,
    use_shortlist: Annotated[
        bool,
        typer.Option("--shortlist/--no-shortlist", help="Look only at target tokens the source suggests."),
    ] = True,
    providers: Annotated[
        str | None,
        typer.Option(metavar="NAME[,NAME...]", help="cpu, cuda or tensorrt; the most wanted first."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML; options and environment win.")
    ] = None,
) -> None:
    """Translate whole files: txt, jsonl, csv, tsv, parquet, srt, vtt, po, xliff, tmx, html, md, docx, odt and
    epub, also with .gz or .zst after it.

    Nothing is lost if a run is killed: --resume ends with the same bytes as an uninterrupted run.
    """
    if resume and force:
        raise typer.BadParameter("cannot be combined with --force", param_hint="--resume")
    # Imported here: these would double the start time of every other command.
    from service.batch.job_directory import StartMode  # noqa: PLC0415
    from service.batch.output_files import OnFailure  # noqa: PLC0415
    from service.batch.planning import LanguageOptions  # noqa: PLC0415
    from service.cli.batch_arguments import BatchArguments, ClusterArguments  # noqa: PLC0415
    from service.cli.batch_job import estimate_batch, run_batch  # noqa: PLC0415
    from service.file_limits import file_limits  # noqa: PLC0415

    start = StartMode.RESUME if resume else StartMode.OVERWRITE if force else StartMode.NEW
    settings = load_settings(config, {"model": model, "providers": providers})
    decoding = DecodingOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_length=max_length,
        return_scores=False,
        use_shortlist=use_shortlist,
    )
    cluster = ClusterArguments(ray_address, workers, worker_cpus) if engine is EngineKind.RAY else None
    limits = file_limits(settings) if untrusted else None
    languages = LanguageOptions(source, target, tuple(column or ()), limits=limits)
    arguments = BatchArguments(
        tuple(inputs), output, languages, decoding, OnFailure(on_failure.value), start, cluster
    )
    status = estimate_batch(arguments, settings) if dry_run else run_batch(arguments, settings)
    if status:
        raise typer.Exit(status)
