"""Reading and writing of a job's files. A file is written completely or not at all."""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from dragoman.types import Pair
from service.batch.errors import InputProblem, JobCancelled, OutputFailed, ReadingStopped
from service.errors import FieldInvalid
from service.formats.entries import Entry, FileFormat, FileFormatError
from service.formats.isolation import IsolatedFormat, ReaderStoppedError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

BUFFER_SIZE_BYTES = 2**18
PARTIAL = ".partial"
"""Suffix of an incomplete file. A later run overwrites what a killed one left."""
CHECKED_ENTRIES = 1000
"""Number of entries between two checks whether the job is to stop."""


@dataclass(frozen=True, slots=True)
class JobFile:
    """One file to translate."""

    name: str
    """Name for users, in messages and in the facts that a resumed job must share."""
    source: Path
    """Path of a regular file, as it is read several times."""
    target: Path
    """Path of the output; its folder is created if missing."""
    format: FileFormat
    pair: Pair
    entries: tuple[Entry, ...] | None = None
    """Entries of a file that has been read and is small; None to read them whenever they are needed."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Size and digest of a file, with the number of its entries and characters."""

    num_entries: int
    num_characters: int
    """Characters of all entries."""
    size_bytes: int
    sha256: str

    @property
    def fact(self) -> str:
        return f"{self.size_bytes} bytes with sha256 {self.sha256}"


def survey_all(files: Sequence[JobFile], stop: Event) -> list[Survey]:
    """Survey all files, each with one complete read.

    Raises:
        InputProblem: files cannot be read; the error names each.
        JobCancelled: `stop` was set.
    """
    surveys: list[Survey] = []
    problems: list[tuple[str, str]] = []
    for file in files:
        try:
            surveys.append(survey(file, stop))
        except InputProblem as error:
            problems += error.problems
    if problems:
        raise InputProblem(tuple(problems))
    return surveys


def survey(file: JobFile, stop: Event) -> Survey:
    """Survey one file. Errors are those of `survey_all`."""
    num_entries = num_characters = 0
    with open_source(file) as source:
        size_bytes, sha256 = digest_file(source)
        source.seek(0)
        if isinstance(file.format, IsolatedFormat) and file.entries is None:
            # The entries need not leave the process that reads them.
            num_entries, num_characters = file.format.count(source)
        else:
            for entry in read_entries(file):
                num_entries += 1
                num_characters += len(entry.text)
                if num_entries % CHECKED_ENTRIES == 0 and stop.is_set():
                    raise JobCancelled
    if stop.is_set():
        raise JobCancelled
    return Survey(num_entries, num_characters, size_bytes, sha256)


def read_entries(file: JobFile) -> Iterator[Entry]:
    """Yield the entries of a file lazily.

    Raises:
        InputProblem: the file cannot be read.
    """
    if file.entries is not None:
        yield from file.entries
        return
    with open_source(file) as source:
        yield from file.format.read(source)


@contextmanager
def open_source(file: JobFile) -> Iterator[io.BufferedReader]:
    """Open a file for reading. Errors in the block are converted to errors with the file's name.

    Raises:
        InputProblem: the file cannot be read.
        ReadingStopped: the process that reads the file was stopped.
    """
    try:
        with input_errors(file.name), file.source.open("rb") as source:
            yield source
    except ReaderStoppedError as error:
        raise ReadingStopped(file.name, str(error)) from error


@contextmanager
def input_errors(name: str) -> Iterator[None]:
    """Convert errors of reading a file, or an option, to InputProblem with its name."""
    try:
        yield
    except (FileFormatError, FieldInvalid) as error:
        raise InputProblem(((name, error.problem),)) from error
    except OSError as error:
        raise InputProblem(((name, error.strerror or str(error)),)) from error


def digest_file(source: io.BufferedReader) -> tuple[int, str]:
    """Return the size in bytes and the SHA-256, in hexadecimal digits, of a whole file."""
    source.seek(0)
    digest = hashlib.file_digest(source, "sha256")
    return source.tell(), digest.hexdigest()


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only when the block ends and the content is on disk.

    If the block raises or the process is killed, a former file at `path` is unchanged.

    Raises:
        OutputFailed: the file could not be written.
    """
    partial = path.with_name(path.name + PARTIAL)
    with output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = _TargetFile(partial, path)
    try:
        with io.BufferedWriter(raw, BUFFER_SIZE_BYTES) as target:
            yield target
            target.flush()
            with output_errors(path):
                os.fsync(target.fileno())
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    with output_errors(path):
        partial.replace(path)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's file names to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _TargetFile(io.FileIO):
    """An output file whose errors differ from those of the input file that is read at the same time."""

    def __init__(self, partial: Path, path: Path) -> None:
        super().__init__(partial, "wb")
        self._path = path

    def write(self, data: "ReadableBuffer", /) -> int:
        with output_errors(self._path):
            return super().write(data)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Convert errors of the operating system to OutputFailed for this path."""
    try:
        yield
    except OSError as error:
        raise OutputFailed(str(path), error.strerror or str(error)) from error
