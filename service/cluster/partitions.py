"""Partitions of a job: files of entries to translate, and files of their outcomes.

All nodes see them under the same path. A file gets its name when it is complete, and the name includes a
digest of all its bytes, so an incomplete or damaged file is never read as a partition.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from threading import Event

from dragoman.types import Pair
from service.batch.errors import ClusterMissing, JobCancelled, PartitionDamaged
from service.batch.files import JobFile, output_errors, read_entries
from service.batch.journal import Journal, look_up, marked_bytes, marked_of_bytes, outcome_row, read_outcome
from service.batch.occurrences import OccurrenceCounts
from service.batch.run import by_pair
from service.formats.entries import Entry, entry_of
from service.text.outcome import TextOutcome

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise ClusterMissing(str(error)) from error

DIGEST_SIZE_BYTES = 16
SUFFIX = ".parquet"
PARTIAL = ".partial"
"""Suffix of an incomplete file."""
PAIR = b"pair"
"""Metadata key, in the schema of a file of entries, for its languages."""

# Bytes, as UTF-8 cannot encode every Python string.
ENTRIES = pa.schema([("key", pa.binary()), ("text", pa.large_binary()), ("is_message", pa.bool_())])
OUTCOMES = pa.schema(
    [
        ("key", pa.binary()),
        ("text", pa.large_binary()),
        ("problem", pa.string()),
        ("is_cut", pa.bool_()),
        ("origin", pa.string()),
        ("confidence", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Partition:
    """Distinct entries of one pair of languages."""

    pair: Pair
    keys: tuple[bytes, ...]
    entries: tuple[Entry, ...]
    """Entries without their locations."""


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """Folder of a job's partitions."""

    path: Path

    @property
    def entries_path(self) -> Path:
        """Folder of files to translate; every run writes them again."""
        return self.path / "entries"

    @property
    def outcomes_path(self) -> Path:
        """Folder of files of outcomes, which survive if a run is killed."""
        return self.path / "outcomes"

    def prepare(self) -> None:
        """Create the folders, empty except for outcomes of an earlier run.

        Raises:
            OutputFailed: the folders cannot be created.
        """
        with output_errors(self.path):
            if self.entries_path.exists():
                shutil.rmtree(self.entries_path)
            for folder in (self.entries_path, self.outcomes_path):
                folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove the whole folder, if it exists."""
        if self.path.exists():
            with output_errors(self.path):
                shutil.rmtree(self.path)

    def leave(self) -> None:
        """Remove everything but outcomes: a later run has no use for it."""
        shutil.rmtree(self.entries_path, ignore_errors=True)
        with suppress(OSError):  # there are outcomes
            self.outcomes_path.rmdir()
            self.path.rmdir()

    def finished(self) -> Iterator[Path]:
        """Yield the files of outcomes."""
        yield from sorted(self.outcomes_path.glob(f"*{SUFFIX}"))


def write_partition(folder: Path, number: int, pair: Pair, entries: Mapping[bytes, Entry]) -> Path:
    """Write a file of entries with their keys.

    Raises:
        OutputFailed: the file cannot be written, for example because the disk is full.
    """
    table = pa.table(
        {
            "key": list(entries),
            "text": [marked_bytes(entry.marked) for entry in entries.values()],
            "is_message": [entry.is_message for entry in entries.values()],
        },
        schema=ENTRIES.with_metadata({PAIR: json.dumps(list(pair)).encode()}),
    )
    return _write_whole(table, folder, f"{number:08d}")


def read_partition(path: Path) -> Partition:
    """Read a file of entries.

    Raises:
        PartitionDamaged: the file is not the same as what was written.
        FileNotFoundError: the file does not exist, for example because this node does not share the folder.
    """
    table = _read_whole(path)
    columns = table.to_pydict()
    pair = Pair(*json.loads(table.schema.metadata[PAIR]))
    entries = (
        entry_of(marked_of_bytes(text), "", is_message=is_message)
        for text, is_message in zip(columns["text"], columns["is_message"], strict=True)
    )
    return Partition(pair, tuple(columns["key"]), tuple(entries))


def write_outcomes(folder: Path, stem: str, keys: Sequence[bytes], outcomes: Sequence[TextOutcome]) -> Path:
    """Write the outcomes of a partition's entries.

    Raises:
        OutputFailed: the file cannot be written, for example because the disk is full.
    """
    rows = list(map(outcome_row, keys, outcomes))
    return _write_whole(pa.Table.from_pylist(rows, schema=OUTCOMES), folder, stem)


def read_outcomes(path: Path) -> dict[bytes, TextOutcome]:
    """Read the outcomes of a partition's entries.

    Raises:
        PartitionDamaged: the file is not the same as what was written.
    """
    return {row["key"]: read_outcome(row) for row in _read_whole(path).to_pylist()}


def _write_whole(table: pa.Table, folder: Path, stem: str) -> Path:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    path = folder / f"{stem}.{_digest(content)}{SUFFIX}"
    with output_errors(path):
        # Two nodes may translate the same partition at a time, if Ray thought that one was dead.
        descriptor, partial = mkstemp(PARTIAL, dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
            Path(partial).replace(path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    return path


def _read_whole(path: Path) -> pa.Table:
    content = path.read_bytes()
    if path.name.split(".")[-2] != _digest(content):
        raise PartitionDamaged(str(path))
    return pq.read_table(pa.BufferReader(content))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE_BYTES).hexdigest()


@dataclass(slots=True, eq=False)
class Planner:
    """Writes partitions, with one at a time in memory."""

    journal: Journal
    occurrences: OccurrenceCounts
    folder: Path
    size: int
    stop: Event
    partitions: list[Path] = field(default_factory=list)
    """Partitions that the run must translate."""
    num_done: int = 0
    """Entries that are in the journal; repeated entries count each time."""
    num_failed: int = 0
    """Entries among these that could not be translated."""

    def run(self, files: Sequence[JobFile]) -> None:
        """Read all files and write partitions, each for one pair of languages.

        Raises:
            InputProblem: a file cannot be read.
            OutputFailed: a partition cannot be written.
            JobCancelled: `stop` was set.
            JournalFailed, JournalDamaged: see `Journal.outcomes`.
        """
        for pair, alike in by_pair(files).items():
            pending = self._pending(alike, pair)
            while entries := dict(islice(pending, self.size)):
                self.partitions.append(write_partition(self.folder, len(self.partitions), pair, entries))

    def _pending(self, files: Sequence[JobFile], pair: Pair) -> Iterator[tuple[bytes, Entry]]:
        entries = (entry for file in files for entry in read_entries(file))
        for window in look_up(self.journal, entries, pair):
            if self.stop.is_set():
                raise JobCancelled
            for key, entry, outcome in window:
                if outcome is not None:
                    self.num_done += 1
                    self.num_failed += outcome.is_source
                elif self.occurrences.add(key):
                    yield key, entry
