"""Execution of `dragoman batch`, once its options are parsed."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from types import FrameType

import typer

from dragoman.bundle import file_sha256
from dragoman.providers import parse_providers
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.batch.entry_translator import translator_for
from service.batch.errors import BatchStopped, InputProblem
from service.batch.estimate import count_contents, measure_rate
from service.batch.files import JobFile, input_errors
from service.batch.job_directory import JobDirectory, NothingToResume, StartMode
from service.batch.journal import Journal
from service.batch.memory_translator import with_tmx
from service.batch.pending_entries import ChunkLimits, TranslatorOf
from service.batch.planning import SHOWN, FileMapping, FileMappings, LanguageOptions, map_files, plan_files
from service.batch.progress import BatchReport, OnProgress
from service.batch.run import BatchJob, reports_failures, run_job, translator_facts
from service.batch.texts import EntryTranslator
from service.cli.batch_bar import progress_bar, show_contents, show_report
from service.cli.exit_status import EXIT_INCOMPLETE
from service.cli.languages import LanguageArguments, options_at_fault
from service.cli.terms import NO_TERMS, TermOptions
from service.cluster import ClusterOptions
from service.formats.registry import is_known
from service.models.engine import find_models, open_router, translator_options
from service.settings.groups import split_names
from service.settings.settings import Settings
from service.translation.options import TranslationOptions

CHUNKS = ChunkLimits()
EXIT_DONE = 0
EXIT_STOPPED = 3


@dataclass(frozen=True, slots=True)
class BatchArguments:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageOptions
    options: TranslationOptions
    start: StartMode
    cluster: ClusterOptions | None = None
    """None to translate in this process."""
    memory: Path | None = None
    """TMX file whose exact matches are used."""
    memory_threshold: float = 1.0
    """Similarity from which its pairs are used that differ only in numbers and placeholders."""
    terms: TermOptions = NO_TERMS
    """Terms, for the only language pair of all files."""


@dataclass(frozen=True, slots=True)
class _Resources:
    settings: Settings
    router: Router
    directory: JobDirectory
    journal: Journal
    stop: Event


def run_batch(arguments: BatchArguments, settings: Settings) -> int:
    """Translate files; return the exit status. Raises BatchRejected."""
    job_directory = JobDirectory.of(arguments.output)
    try:
        mappings = _find_files(arguments).mappings
        targets = [mapping.target for mapping in mappings]
        with (
            _stop_on_signals() as stop,
            job_directory.locked(),
            job_directory.opened(targets, arguments.start) as journal,
            open_router(settings) as router,
        ):
            resources = _Resources(settings, router, job_directory, journal, stop)
            report, is_whole = _translate_readable(arguments, resources, mappings)
    except NothingToResume:
        typer.echo(
            f"dragoman: nothing to resume: {arguments.output} exists; --force translates it again", err=True
        )
        return EXIT_INCOMPLETE if reports_failures(job_directory.problems_path) else EXIT_DONE
    except BatchStopped as error:
        typer.echo(f"dragoman: {error}; continue with the same command and --resume", err=True)
        return EXIT_STOPPED
    show_report(report, job_directory.problems_path)
    return EXIT_INCOMPLETE if report.num_failed or report.num_flagged or not is_whole else EXIT_DONE


def estimate_batch(arguments: BatchArguments, settings: Settings) -> None:
    """Print what there is to translate and how long it would take; write nothing. Raises BatchRejected."""
    mappings = _find_files(arguments)
    with open_router(settings) as router:
        files = _plan(mappings.mappings, arguments, router)
        arguments = _with_terms(arguments, files)
        contents = count_contents(files)
        rate = measure_rate(contents, _translators(router, arguments))
    show_contents(contents, rate)


def _find_files(arguments: BatchArguments) -> FileMappings:
    """Find the files that the command names. Report files of other kinds in folders: they are not copied."""
    mappings = map_files(arguments.inputs, arguments.output, is_known)
    if mappings.skipped:
        names = _list_few(list(map(str, mappings.skipped)))
        typer.echo(f"dragoman: skipped files of unsupported formats: {names}", err=True)
    return mappings


def _list_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _plan(mappings: Sequence[FileMapping], arguments: BatchArguments, router: Router) -> tuple[JobFile, ...]:
    """Plan all files; an error about languages names the option at fault."""
    languages = arguments.languages
    with options_at_fault(LanguageArguments(languages.source, languages.target), router):
        return plan_files(mappings, languages, router)


def _translate_readable(
    arguments: BatchArguments, resources: _Resources, mappings: Sequence[FileMapping]
) -> tuple[BatchReport, bool]:
    """Translate the files that can be read; report the others, and return whether there are none."""
    try:
        return _translate(arguments, resources, mappings), True
    except InputProblem as error:
        rejected = {name for name, _ in error.problems}
        readable = [mapping for mapping in mappings if mapping.name not in rejected]
        if not readable or len(readable) == len(mappings):
            raise
        typer.echo(f"dragoman: skipped {error}", err=True)
    return _translate_readable(arguments, resources, readable)[0], False


def _translate(
    arguments: BatchArguments, resources: _Resources, mappings: Sequence[FileMapping]
) -> BatchReport:
    router = resources.router
    files = _plan(mappings, arguments, router)
    unchanged = [file.name for file in files if file.pair.source == file.pair.target]
    if unchanged:
        problem = "already in the target language, or without letters; written unchanged"
        typer.echo(f"dragoman: {_list_few(unchanged)}: {problem}", err=True)
    arguments = _with_terms(arguments, files)
    pairs = {file.pair for file in files}
    facts = translator_facts(router, pairs, arguments.options, translator_options(resources.settings))
    if arguments.memory is not None:
        facts["memory"] = f"{_digest_memory(arguments.memory)}, threshold {arguments.memory_threshold:g}"
    job = BatchJob(files, facts, resources.directory.problems_path, arguments.options, CHUNKS)
    with progress_bar() as on_progress:
        if arguments.cluster is not None:
            return _run_on_cluster(job, arguments.cluster, resources, on_progress)
        translators, journal = _translators(router, arguments), resources.journal
        return run_job(job, translators, journal, on_progress=on_progress, stop=resources.stop)


def _run_on_cluster(
    job: BatchJob, cluster: ClusterOptions, resources: _Resources, on_progress: OnProgress
) -> BatchReport:
    """Run a job on Ray. Nodes must have the bundles under the same paths as this machine."""
    from service.cluster.engines import RoutedEngine  # noqa: PLC0415 -- seldom needed
    from service.cluster.partitions import PartitionFolder  # noqa: PLC0415 -- as above
    from service.cluster.run import ClusterJob, run_on_ray  # noqa: PLC0415 -- as above

    settings = resources.settings
    engine = RoutedEngine(
        {name: folder.resolve() for name, folder in find_models(settings).items()},
        tuple(sorted({file.pair for file in job.files})),
        job.facts,
        job.options,
        TranslatorOptions(
            threads=settings.threads, providers=parse_providers(settings.providers), kernels=settings.kernels
        ),
        RouterOptions(pivots=split_names(settings.pivots), fallback_dir=settings.model_folders.bundled),
    )
    job_on_cluster = ClusterJob(job, engine, PartitionFolder(resources.directory.partitions_path), cluster)
    return run_on_ray(job_on_cluster, resources.journal, on_progress=on_progress, stop=resources.stop)


def _with_terms(arguments: BatchArguments, files: Sequence[JobFile]) -> BatchArguments:
    """Add the terms to the decoding options.

    Raises:
        InputProblem: they cannot be used, or the files have several language pairs.
    """
    if arguments.terms == NO_TERMS:
        return arguments
    name = str(arguments.terms.glossary or "--term")
    pairs = sorted({file.pair for file in files if file.pair.source != file.pair.target})
    if len(pairs) > 1:
        problem = f"terms are for one language pair, but the files have {', '.join(map(str, pairs))}"
        raise InputProblem(((name, f"{problem}; name --source, or run the command for each"),))
    with input_errors(name):
        terminology = arguments.terms.read(pairs[0]) if pairs else None
    return replace(arguments, options=arguments.options.with_terms(terminology))


def _translators(router: Router, arguments: BatchArguments) -> TranslatorOf:
    def translator_of(pair: Pair) -> EntryTranslator:
        translator = translator_for(router, pair, arguments.options)
        if arguments.memory is None or pair.source == pair.target:
            return translator
        return with_tmx(translator, arguments.memory, pair, arguments.memory_threshold)

    return translator_of


def _digest_memory(path: Path) -> str:
    """Return the digest of a memory's file. Raises InputProblem."""
    with input_errors(str(path)):
        return f"sha256 {file_sha256(path)}"


@contextmanager
def _stop_on_signals() -> Iterator[Event]:
    """Yield an event that the first interrupt or SIGTERM sets; after it, interrupts work as usual."""
    stop = Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        typer.echo("dragoman: stopping; interrupt again to stop at once", err=True)

    previous_handlers = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
