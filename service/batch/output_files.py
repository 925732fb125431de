"""The second pass: read the files again, and write them with the translations in the journal."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import BinaryIO

from service.batch.errors import InputChanged, JobCancelled
from service.batch.files import JobFile, Survey, digest_file, open_source, read_entries, write_atomically
from service.batch.journal import Journal
from service.batch.lookup import look_up
from service.batch.texts import Outcome, Untranslated
from service.formats.entries import Entry

UNTRANSLATED = "untranslated"
CUT = "a length limit was reached; the translation may be incomplete"


class OnFailure(StrEnum):
    """What is written for an entry that could not be translated."""

    SOURCE = "source"
    """The source text of the entry."""
    EMPTY = "empty"


@dataclass(slots=True)
class WriteCounts:
    """Counts of entries in the files written; repeated entries count each time."""

    num_failed: int = 0
    num_cut: int = 0


def write_files(
    files: Sequence[JobFile],
    surveys: Sequence[Survey],
    journal: Journal,
    *,
    on_failure: OnFailure,
    problems_path: Path,
    stop: Event,
) -> WriteCounts:
    """Write all files, each completely or not at all, and list problems with their entries in a side file.

    The side file has a JSON object for each entry that was not translated or was cut. If there are none,
    there is no such file.

    Args:
        files: files whose entries are all in the journal.
        surveys: survey of each file from when the job began.
        journal: journal of the job.
        on_failure: what is written for entries that could not be translated.
        problems_path: path of the side file.
        stop: checked now and then.

    Raises:
        InputChanged: a file has changed since its survey.
        InputProblem: a file cannot be read.
        OutputFailed: a file cannot be written.
        JobCancelled: `stop` was set.
    """
    tally = WriteCounts()
    with ExitStack() as opened:
        problems = _ProblemsFile(problems_path, opened)
        for file, survey in zip(files, surveys, strict=True):
            outcomes = _OutputTexts(file, journal, on_failure, tally, problems, stop)
            _write_file(file, survey, outcomes)
    if not problems.is_there:
        with suppress(FileNotFoundError):
            problems_path.unlink()  # left by an earlier run
    return tally


def _write_file(file: JobFile, survey: Survey, texts: "_OutputTexts") -> None:
    with write_atomically(file.target) as target, open_source(file) as source:
        file.format.write(source, iter(texts), target)
        if digest_file(source) != (survey.size_bytes, survey.sha256):
            raise InputChanged(file.name)


def reports_failures(problems_path: Path) -> bool:
    """Return whether the side file, if it exists, lists untranslated entries, and not only cut ones."""
    return first_failure(problems_path) is not None


def first_failure(problems_path: Path) -> str | None:
    """Return the position and the problem of the first untranslated entry; None if there is none."""
    try:
        with problems_path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record["outcome"] == UNTRANSLATED:
                    return f"{record['file']}: {record['place']}: {record['problem']}"
    except FileNotFoundError:
        return None
    return None


class _ProblemsFile:
    """The side file, which is created with the first problem."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self._path = path
        self._opened = opened
        self._target: BinaryIO | None = None

    @property
    def is_there(self) -> bool:
        return self._target is not None

    def add(self, file: JobFile, entry: Entry, outcome: str, problem: str) -> None:
        if self._target is None:
            self._target = self._opened.enter_context(write_atomically(self._path))
        record = {
            "file": file.name,
            "place": entry.place,
            "outcome": outcome,
            "problem": problem,
            "text": entry.text,
        }
        line = json.dumps(record, ensure_ascii=False) + "\n"
        # A lone surrogate cannot be encoded in UTF-8.
        self._target.write(line.encode("utf-8", "backslashreplace"))


@dataclass(frozen=True, slots=True)
class _OutputTexts:
    """The texts to write for the entries of a file, in order."""

    file: JobFile
    journal: Journal
    on_failure: OnFailure
    tally: WriteCounts
    problems: _ProblemsFile
    stop: Event

    def __iter__(self) -> Iterator[str]:
        for window in look_up(self.journal, read_entries(self.file), self.file.pair):
            if self.stop.is_set():
                raise JobCancelled
            for _, entry, outcome in window:
                if outcome is None:
                    raise InputChanged(self.file.name)  # all entries of the surveyed file have an outcome
                yield self._text(entry, outcome)

    def _text(self, entry: Entry, outcome: Outcome) -> str:
        if isinstance(outcome, Untranslated):
            self.tally.num_failed += 1
            self.problems.add(self.file, entry, UNTRANSLATED, outcome.problem)
            return entry.text if self.on_failure is OnFailure.SOURCE else ""
        if outcome.is_cut:
            self.tally.num_cut += 1
            self.problems.add(self.file, entry, "cut", CUT)
        return outcome.text
