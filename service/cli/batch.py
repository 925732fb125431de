"""`dragoman batch`: translation of files of any size, in common formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman import DecodingOptions
from service.settings import load_settings

EPILOG = """Exit status: 0 all entries are translated; 1 all files are written, but some entries could not be
translated (OUT.errors.jsonl lists them with the reasons); 2 rejected: files are unchanged, and the message
says what to do; 3 stopped: the same command with --resume continues."""


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
            help="Files, folders, or quoted patterns such as 'texts/**/*.po'. Hidden files are ignored.",
        ),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Output file if IN is a single file; otherwise a folder, which keeps the input's tree.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Language of the texts; `auto` detects it for each file."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Language to translate into.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME[,...]",
            help="Folder of a bundle, or its name in the models folder. Default: all bundles in that folder.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column of a table by name or number, or key of JSON lines; may be repeated."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue a stopped run of the same command; start if there is none."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Start again and replace existing output.")] = False,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Read and write each file in a separate process, within the settings file_memory_bytes, "
            "file_cpu_s and file_timeout_s.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Count the entries and estimate the time from a sample; write nothing."
        ),
    ] = False,
    on_failure: Annotated[
        FailurePolicy,
        typer.Option(help="Text to write for an entry that could not be translated: its source, or nothing."),
    ] = FailurePolicy.SOURCE,
    engine: Annotated[
        EngineKind,
        typer.Option(help="Translate in this process, or on a Ray cluster; ray needs the extra `ray`."),
    ] = EngineKind.LOCAL,
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the Ray cluster, such as HOST:PORT. Default: a cluster on this machine.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of engines on the cluster.")] = 1,
    worker_cpus: Annotated[int, typer.Option(min=1, help="Number of CPUs per engine on the cluster.")] = 1,
    beam_size: Annotated[
        int | None,
        typer.Option(help="Hypotheses kept at each step; 1 is greedy search. Default: the model's."),
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Higher values favour longer translations. Default: the model's.")
    ] = None,
    max_length: Annotated[int | None, typer.Option(help="Maximum target tokens of a segment.")] = None,
    use_shortlist: Annotated[
        bool,
        typer.Option(
            "--shortlist/--no-shortlist", help="Compute only target tokens that the source makes likely."
        ),
    ] = True,
    providers: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="Hardware to run on: cpu, cuda or tensorrt; the most preferred first.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML file with settings; options and environment variables override it."
        ),
    ] = None,
) -> None:
    """Translate whole files in many formats.

    Formats: txt, jsonl, csv, tsv, parquet, srt, vtt, po, xliff, tmx, html, md, docx, odt and epub. A further
    .gz or .zst marks a compressed file.

    A killed run can continue: with --resume, the output has the same bytes as that of an uninterrupted run.
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
