"""A job without an engine, in its own process to measure memory: `python -m bench.batch_worker FOLDER FILE`.

The functions that `bench.batch` runs with an engine are here too: this module imports only what a job needs.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from dragoman.types import Pair
from service.batch.files import JobFile, read_entries
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile
from service.batch.progress import BatchReport
from service.batch.run import BatchJob, run_job
from service.batch.texts import EntryTranslator
from service.formats.entries import Entry, FileOptions
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome

PAIR = Pair("de", "en")


class InstantTranslator:
    """Test double of a translator that answers at once, like an engine with all translations in its cache."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Return each entry in upper case."""
        return (TextOutcome(MarkedText(entry.text.upper())) for entry in entries)


def make_job(folder: Path, source: Path) -> BatchJob:
    file = JobFile(source.name, source, folder / "out.txt", open_format("a.txt", FileOptions(*PAIR)), PAIR)
    return BatchJob((file,), {"translator": "bench"}, folder / "errors.jsonl")


def run_with_journal(folder: Path, source: Path, translator: EntryTranslator) -> BatchReport:
    store = JournalFile.open(folder / "journal")
    try:
        return run_job(make_job(folder, source), lambda _: translator, Journal(store))
    finally:
        store.close()


def run_without_journal(folder: Path, source: Path, translator: EntryTranslator) -> None:
    (file,) = make_job(folder, source).files
    with file.source.open("rb") as lines, file.target.open("wb") as target:
        outcomes = translator.translate(read_entries(file))
        file.format.write(lines, (_text(outcome) for outcome in outcomes), target)


def _text(outcome: TextOutcome) -> str:
    if outcome.is_source:
        raise TypeError(outcome.problem)
    return outcome.marked.text


if __name__ == "__main__":
    run_with_journal(Path(sys.argv[1]), Path(sys.argv[2]), InstantTranslator())
