"""Output of `dragoman batch`: the progress bar, the report at the end, and the estimate."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from tqdm import tqdm

from service.batch.estimate import Contents
from service.batch.progress import BatchProgress, BatchReport, OnProgress

SECONDS_PER_MINUTE = 60
MINUTES_PER_HOUR = 60


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """Show a job's progress, speed, time left and failures: in a bar, or in lines without a terminal."""
    if not sys.stderr.isatty():
        yield ProgressLines().show
        return
    with tqdm(unit=" entries", file=sys.stderr, total=0) as bar:

        def show(progress: BatchProgress) -> None:
            bar.total = progress.num_entries
            if not progress.num_translated:
                # Entries of earlier runs must not count towards this run's speed.
                bar.initial = bar.n = bar.last_print_n = progress.num_done
            if progress.num_failed:
                bar.set_postfix(failed=progress.num_failed, refresh=False)
            bar.update(progress.num_done - bar.n)

        yield show


class ProgressLines:
    """Prints a line a minute, for the log of a job without a terminal."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = self._shown_s = clock()
        self._num_before: int | None = None
        """Entries that earlier runs have done; they do not count towards this run's speed."""

    def show(self, progress: BatchProgress) -> None:
        """Print the progress if a minute has passed since the last line."""
        if self._num_before is None:
            self._num_before = progress.num_done
        now_s = self._clock()
        if now_s - self._shown_s < SECONDS_PER_MINUTE:
            return
        self._shown_s = now_s
        rate = (progress.num_done - self._num_before) / (now_s - self._began_s)
        line = f"dragoman: {progress.num_done:,} of {progress.num_entries:,} entries, {rate:,.1f} entries/s"
        if rate:
            line += f", about {_duration((progress.num_entries - progress.num_done) / rate)} left"
        if progress.num_failed:
            line += f", {progress.num_failed:,} failed"
        typer.echo(line, err=True)


def show_report(report: BatchReport, problems_path: Path) -> None:
    """Print the result of a job, and where its failures are listed."""
    noun = "entry" if report.num_entries == 1 else "entries"
    typer.echo(
        f"dragoman: {report.num_entries:,} {noun}, {report.num_translated:,} translated now, "
        f"{report.num_failed:,} failed",
        err=True,
    )
    if report.num_cut:
        typer.echo(f"dragoman: {report.num_cut:,} reached the length limit and may be incomplete", err=True)
    if report.num_flagged:
        typer.echo(f"dragoman: {report.num_flagged:,} failed a check and should be reviewed", err=True)
    if report.num_failed or report.num_cut or report.num_flagged:
        typer.echo(f"dragoman: {problems_path} lists them", err=True)


def show_contents(contents: Contents, characters_per_s: float) -> None:
    """Print the contents of a job, and how long it would take."""
    rows = [
        ("files", f"{contents.num_files:,}"),
        ("entries", f"{contents.num_entries:,}"),
        ("characters", f"{contents.num_characters:,}"),
        ("segments", f"{contents.num_segments:,}"),
        ("duplicates", f"{contents.num_duplicates:,}"),
        ("to translate", f"{contents.num_distinct:,} entries of {contents.distinct_characters:,} characters"),
    ]
    if characters_per_s:
        rate = f"{characters_per_s:,.0f} characters/s (measured on {len(contents.sample)} entries)"
        rows += [
            ("rate", rate),
            ("time", f"about {_duration(contents.distinct_characters / characters_per_s)}"),
        ]
    for name, value in rows:
        typer.echo(f"{name:<13} {value}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), SECONDS_PER_MINUTE)
    hours, minutes = divmod(minutes, MINUTES_PER_HOUR)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
