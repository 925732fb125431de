"""A translator that tells what it was asked, and jobs of files of lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dragoman.types import Pair
from service.batch.files import JobFile
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile
from service.batch.pending_entries import ChunkLimits
from service.batch.run import BatchJob
from service.formats.entries import Entry, FileOptions
from service.formats.registry import open_format
from service.text.outcome import TextOrigin, TextOutcome
from service.translation.options import OnFailure, TranslationOptions

PAIR = Pair("de", "en")
FACTS = {"bundles of de -> en": "double"}


class UpperCase:
    """Translates into upper case, reading ahead. `unusable` in a text fails it, `cut` cuts it."""

    def __init__(self, read_ahead: int = 5) -> None:
        self.requested: list[str] = []
        self.on_outcome: Callable[[int], object] = lambda _: None
        """Told before each outcome of its number, from 1."""
        self._read_ahead = read_ahead

    def __call__(self, pair: Pair) -> "UpperCase":
        """As the translator of any pair."""
        del pair
        return self

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        under_way: list[Entry] = []
        number = 0
        for entry in entries:
            self.requested.append(entry.text)
            under_way.append(entry)
            if len(under_way) >= self._read_ahead:
                number += 1
                yield self._outcome(number, under_way.pop(0))
        while under_way:
            number += 1
            yield self._outcome(number, under_way.pop(0))

    def _outcome(self, number: int, entry: Entry) -> TextOutcome:
        self.on_outcome(number)
        if "unusable" in entry.text:
            return TextOutcome(entry.marked, origin=TextOrigin.SOURCE, rejection="is not usable")
        return TextOutcome(replace(entry.marked, text=entry.text.upper()), is_cut="cut" in entry.text)


def lines_file(folder: Path, name: str, lines: Sequence[str], pair: Pair = PAIR) -> JobFile:
    """A file of lines in `folder`/in that is to be written in `folder`/out."""
    source = folder / "in" / name
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f"{line}\n" for line in lines))
    return JobFile(name, source, folder / "out" / name, open_format(name, FileOptions(*pair)), pair)


def job_of(
    folder: Path, *files: JobFile, on_failure: OnFailure = OnFailure.SOURCE, chunk_entries: int = 4
) -> BatchJob:
    options = TranslationOptions(on_failure=on_failure)
    return BatchJob(files, FACTS, folder / "errors.jsonl", options, ChunkLimits(chunk_entries, 3600.0))


@contextmanager
def journal_in(folder: Path) -> Iterator[Journal]:
    store = JournalFile.open(folder / "job.journal")
    try:
        yield Journal(store)
    finally:
        store.close()
