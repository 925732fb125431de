"""`dragoman batch`: translation of files of any size, in common formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman import DecodingOptions
from service.cli import options as cli_options
from service.cli.lines import STDIN
from service.formats.review_marks import ReviewMarks
from service.settings.settings import load_settings
from service.text.options import PlaceholderMode
from service.translation.options import OnFailure, TranslationOptions

EPILOG = """Exit status: 0 all entries are translated; 1 all files are written, but some entries could not be
translated, or their translations failed a check (OUT.errors.jsonl lists them with the reasons); 2 rejected:
files are unchanged, and the message says what to do; 3 stopped: the same command with --resume continues."""

app = cli_options.new_command()


class EngineKind(StrEnum):
    """Place where the engine runs: in this process, or on a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


@app.command(epilog=EPILOG)
def batch(  # noqa: PLR0913 -- the command's options
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Files, folders, or quoted patterns such as 'texts/**/*.po'. Hidden files are ignored. "
            "A single - stands for lines from stdin; OUT must then be -, stdout.",
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
        typer.Option(
            "--source",
            "-s",
            metavar="LANGUAGE",
            help="Language of the texts. Default: detected for each file if several are possible.",
        ),
    ] = None,
    target: cli_options.TargetOption = None,
    model: cli_options.ModelOption = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column of a table by name or number, or key of JSON lines; may be repeated."),
    ] = None,
    join_lines: Annotated[
        bool, typer.Option("--join-lines", help="Read the lines of each paragraph of plain text as one text.")
    ] = False,
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
        OnFailure,
        typer.Option(help="Text to write for an entry that could not be translated: its source, or nothing."),
    ] = OnFailure.SOURCE,
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
    beam_size: cli_options.BeamSizeOption = None,
    length_penalty: cli_options.LengthPenaltyOption = None,
    max_length: cli_options.MaxLengthOption = None,
    formality: cli_options.FormalityOption = None,
    glossary: cli_options.GlossaryOption = None,
    term: cli_options.TermOption = None,
    use_shortlist: cli_options.ShortlistOption = True,
    placeholders: cli_options.PlaceholdersOption = PlaceholderMode.AUTO,
    review: cli_options.ReviewOption = ReviewMarks.MARK,
    memory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.tmx", help="Translation memory whose exact matches are used instead of the model."
        ),
    ] = None,
    memory_threshold: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="Similarity from which --memory is used where only numbers and placeholders differ.",
        ),
    ] = 100,
    providers: cli_options.ProvidersOption = None,
    kernels: cli_options.KernelsOption = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Translate whole files in many formats.

    Formats: txt, jsonl, csv, tsv, parquet, srt, vtt, ass, html, md, docx, pptx, xlsx, odt, odp, ods, epub,
    pdf, which becomes docx or txt, and messages of programs: po, xliff, tmx, json, arb, yaml, properties,
    Android's xml, strings, stringsdict, xcstrings, Qt's ts and resx. A further .gz or .zst marks a compressed
    file.

    A killed run can continue: with --resume, the output has the same bytes as that of an uninterrupted run.
    """
    if resume and force:
        raise typer.BadParameter("cannot be combined with --force", param_hint="--resume")
    if memory is not None and engine is EngineKind.RAY:
        raise typer.BadParameter("cannot be combined with --engine ray", param_hint="--memory")
    if STDIN in inputs:
        from service.cli.translate import translate  # noqa: PLC0415 -- see below

        for option, value in {
            "--column": column, "--join-lines": join_lines, "--resume": resume, "--force": force,
            "--untrusted": untrusted, "--dry-run": dry_run, "--memory": memory,
            "--engine": engine is EngineKind.RAY, "--on-failure": on_failure is OnFailure.EMPTY,
            "--review": review is not ReviewMarks.MARK,
        }.items():  # fmt: skip
            if value:
                raise typer.BadParameter("is for files, not for -", param_hint=option)
        if len(inputs) > 1 or output != STDIN:
            raise typer.BadParameter("- stands alone; name - as --output as well", param_hint="IN")
        translate(
            source=source, target=target, model=model, providers=providers, kernels=kernels,
            beam_size=beam_size, length_penalty=length_penalty, max_length=max_length, formality=formality,
            use_shortlist=use_shortlist, glossary=glossary, term=term, placeholders=placeholders,
            config=config,
        )  # fmt: skip
        return
    # Imported here: these would double the start time of every other command.
    from service.batch.job_directory import StartMode  # noqa: PLC0415
    from service.batch.planning import LanguageOptions  # noqa: PLC0415
    from service.cli.batch_job import BatchArguments, estimate_batch, run_batch  # noqa: PLC0415
    from service.cli.terms import TermOptions  # noqa: PLC0415
    from service.cluster import ClusterOptions  # noqa: PLC0415
    from service.models.engine import file_limits  # noqa: PLC0415

    start = StartMode.RESUME if resume else StartMode.OVERWRITE if force else StartMode.NEW
    settings = load_settings(config, {"model": model, "providers": providers, "kernels": kernels})
    options = TranslationOptions(
        DecodingOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            max_length=max_length,
            return_scores=review is ReviewMarks.CONFIDENCE,
            use_shortlist=use_shortlist,
            formality=formality,
        ),
        placeholders=placeholders,
        on_failure=on_failure,
        review=review,
    )
    cluster = ClusterOptions(ray_address, workers, worker_cpus) if engine is EngineKind.RAY else None
    limits = file_limits(settings) if untrusted else None
    columns = tuple(column or ())
    languages = LanguageOptions(source, target, columns, join_lines, limits, settings.detection)
    arguments = BatchArguments(
        tuple(inputs),
        output,
        languages,
        options,
        start,
        cluster,
        memory,
        memory_threshold / 100,
        TermOptions(glossary, tuple(term or ())),
    )
    if dry_run:
        estimate_batch(arguments, settings)
    elif status := run_batch(arguments, settings):
        raise typer.Exit(status)
