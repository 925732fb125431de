"""What `dragoman batch` does, once its options are read."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType

import typer

from dragoman.routing.router import Router
from dragoman.types import Pair
from service.batch.errors import BatchRefused, BatchStopped
from service.batch.estimate import count_contents, measure_rate
from service.batch.facts import translator_facts
from service.batch.journal import Journal
from service.batch.lacking import Chunks
from service.batch.places import SHOWN, Place, Places, find_places
from service.batch.planning import plan_files
from service.batch.progress import Report
from service.batch.run import Job, run_job
from service.batch.texts import EntryTranslator
from service.batch.translating import RoutedEntries, Unchanged
from service.batch.workplace import NothingToResume, Workplace
from service.batch.writing import tells_of_failures
from service.commands.batch_bar import progress_bar, show_contents, show_report
from service.commands.batch_wishes import BatchWishes
from service.engine import open_router
from service.formats.known import is_known
from service.settings import Settings

CHUNKS = Chunks()
EXIT_DONE = 0
EXIT_INCOMPLETE = 1
EXIT_REFUSED = 2
EXIT_STOPPED = 3


@dataclass(frozen=True, slots=True)
class _Opened:
    router: Router
    journal: Journal
    settings: Settings


def run_batch(wishes: BatchWishes, settings: Settings) -> int:
    """Translate files; gives the exit status."""
    workplace = Workplace.beside(wishes.output)
    try:
        places = _find(wishes).places
        targets = [place.target for place in places]
        with (
            _stopping() as stop,
            workplace.locked(),
            workplace.opened(targets, wishes.start) as journal,
            open_router(settings) as router,
        ):
            opened = _Opened(router, journal, settings)
            report = _translate(wishes, opened, places, workplace, stop)
    except NothingToResume:
        typer.echo(
            f"dragoman: nothing to resume: {wishes.output} is there; --force translates anew", err=True
        )
        return EXIT_INCOMPLETE if tells_of_failures(workplace.problems_path) else EXIT_DONE
    except BatchRefused as error:
        typer.echo(f"dragoman: {error}", err=True)
        return EXIT_REFUSED
    except BatchStopped as error:
        typer.echo(f"dragoman: {error}; the same command with --resume goes on from there", err=True)
        return EXIT_STOPPED
    show_report(report, workplace.problems_path)
    return EXIT_INCOMPLETE if report.num_failed else EXIT_DONE


def estimate_batch(wishes: BatchWishes, settings: Settings) -> int:
    """Tell what there is to translate and how long it would take; nothing is written."""
    try:
        places = _find(wishes)
        with open_router(settings) as router:
            files = plan_files(places.places, wishes.languages, router)
            contents = count_contents(files)
            rate = measure_rate(contents, lambda pair: _translator(router, pair, wishes))
    except BatchRefused as error:
        typer.echo(f"dragoman: {error}", err=True)
        return EXIT_REFUSED
    show_contents(contents, rate)
    return EXIT_DONE


def _find(wishes: BatchWishes) -> Places:
    """What the command names. Files of other kinds in folders are told of: they are not copied."""
    places = find_places(wishes.inputs, wishes.output, is_known)
    if places.skipped:
        names = ", ".join(map(str, places.skipped[:SHOWN]))
        more = f" and {len(places.skipped) - SHOWN} more" if len(places.skipped) > SHOWN else ""
        typer.echo(
            f"dragoman: left aside, as files of their kind are not translated: {names}{more}", err=True
        )
    return places


def _translate(
    wishes: BatchWishes, opened: _Opened, places: Sequence[Place], workplace: Workplace, stop: Event
) -> Report:
    router = opened.router
    files = plan_files(places, wishes.languages, router)
    pairs = {file.pair for file in files}
    model, providers = wishes.languages.model, opened.settings.providers
    facts = translator_facts(router, pairs, wishes.decoding, model, providers)
    job = Job(files, facts, workplace.problems_path, wishes.on_failure, CHUNKS)
    with progress_bar() as on_progress:
        if wishes.cluster is not None:
            from service.commands.batch_cluster import cluster_job, run_on_ray  # noqa: PLC0415 -- seldom wanted

            wanted = cluster_job(job, wishes, wishes.cluster, workplace, opened.settings)
            return run_on_ray(wanted, opened.journal, on_progress=on_progress, stop=stop)
        return run_job(
            job,
            lambda pair: _translator(router, pair, wishes),
            opened.journal,
            on_progress=on_progress,
            stop=stop,
        )


def _translator(router: Router, pair: Pair, wishes: BatchWishes) -> EntryTranslator:
    if pair.source == pair.target:
        return Unchanged()
    return RoutedEntries(router, pair.source, pair.target, wishes.decoding, wishes.languages.model)


@contextmanager
def _stopping() -> Iterator[Event]:
    """An event that is set by the first interrupt or SIGTERM; the second interrupt is one as ever."""
    stop = Event()

    def heed(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        typer.echo("dragoman: stopping; once more to stop at once", err=True)

    before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
