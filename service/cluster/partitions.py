"""Partitions of a job: files of entries to translate, and files of what became of them.

All nodes see them under one path. A file takes its name when it is whole, and the name has a digest of all
its bytes, so that a part of a file, or one that was damaged, is never taken for a partition.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import mkstemp

from dragoman.types import Pair
from service.batch.errors import OutputFailed
from service.batch.texts import Outcome, Translated, Untranslated
from service.cluster.errors import ClusterMissing, PartitionDamaged
from service.formats.entries import Entry
from service.markup.options import MarkupLanguage, MarkupOptions

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise ClusterMissing(str(error)) from error

DIGEST_SIZE_BYTES = 16
SUFFIX = ".parquet"
PARTIAL = ".partial"
"""Ending of a file that is not whole yet."""
PAIR = b"pair"
"""Under which a file of entries has its languages, in its schema."""

# Bytes, as UTF-8 cannot hold every string of Python.
ENTRIES = pa.schema([("key", pa.binary()), ("text", pa.large_binary()), ("markup", pa.string())])
OUTCOMES = pa.schema(
    [("key", pa.binary()), ("text", pa.large_binary()), ("problem", pa.string()), ("is_cut", pa.bool_())]
)


@dataclass(frozen=True, slots=True)
class Partition:
    """Distinct entries of one pair of languages."""

    pair: Pair
    keys: tuple[bytes, ...]
    entries: tuple[Entry, ...]
    """Without their places."""


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """Where a job has its partitions."""

    path: Path

    @property
    def entries_path(self) -> Path:
        """Files to translate; they are written anew by every run."""
        return self.path / "entries"

    @property
    def outcomes_path(self) -> Path:
        """Files of what became of them, which outlive a run that is killed."""
        return self.path / "outcomes"

    def prepare(self) -> None:
        """Make the folders, empty but for outcomes of a run before.

        Raises:
            OutputFailed: they cannot be made.
        """
        with _failing_typed(self.path):
            if self.entries_path.exists():
                shutil.rmtree(self.entries_path)
            for folder in (self.entries_path, self.outcomes_path):
                folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove all of it, if it is there."""
        if self.path.exists():
            with _failing_typed(self.path):
                shutil.rmtree(self.path)

    def leave(self) -> None:
        """Remove what a later run has no use for: all but outcomes."""
        shutil.rmtree(self.entries_path, ignore_errors=True)
        with suppress(OSError):  # there are outcomes
            self.outcomes_path.rmdir()
            self.path.rmdir()

    def finished(self) -> Iterator[Path]:
        """Files of outcomes."""
        yield from sorted(self.outcomes_path.glob(f"*{SUFFIX}"))


def write_partition(folder: Path, number: int, pair: Pair, entries: Mapping[bytes, Entry]) -> Path:
    """Write entries by their keys.

    Raises:
        OutputFailed: as where the disk is full.
    """
    table = pa.table(
        {
            "key": list(entries),
            "text": [_bytes(entry.text) for entry in entries.values()],
            "markup": [_markup_to_json(entry.markup) for entry in entries.values()],
        },
        schema=ENTRIES.with_metadata({PAIR: json.dumps(list(pair)).encode()}),
    )
    return _write_whole(table, folder, f"{number:08d}")


def read_partition(path: Path) -> Partition:
    """Read entries.

    Raises:
        PartitionDamaged: the file is not what was written.
        FileNotFoundError: it is not there, as where this node sees other folders.
    """
    table = _read_whole(path)
    columns = table.to_pydict()
    pair = Pair(*json.loads(table.schema.metadata[PAIR]))
    entries = (
        Entry(_string(text), "", _markup_from_json(markup))
        for text, markup in zip(columns["text"], columns["markup"], strict=True)
    )
    return Partition(pair, tuple(columns["key"]), tuple(entries))


def write_outcomes(folder: Path, stem: str, keys: Sequence[bytes], outcomes: Sequence[Outcome]) -> Path:
    """Write what became of a partition's entries.

    Raises:
        OutputFailed: as where the disk is full.
    """
    texts = [_bytes(each.text) if isinstance(each, Translated) else None for each in outcomes]
    problems = [each.problem if isinstance(each, Untranslated) else None for each in outcomes]
    are_cut = [isinstance(each, Translated) and each.is_cut for each in outcomes]
    columns = {"key": list(keys), "text": texts, "problem": problems, "is_cut": are_cut}
    return _write_whole(pa.table(columns, schema=OUTCOMES), folder, stem)


def read_outcomes(path: Path) -> dict[bytes, Outcome]:
    """Read what became of a partition's entries.

    Raises:
        PartitionDamaged: the file is not what was written.
    """
    columns = _read_whole(path).to_pydict()
    rows = zip(columns["key"], columns["text"], columns["problem"], columns["is_cut"], strict=True)
    return {
        key: Untranslated(problem) if text is None else Translated(_string(text), is_cut)
        for key, text, problem, is_cut in rows
    }


def _write_whole(table: pa.Table, folder: Path, stem: str) -> Path:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    path = folder / f"{stem}.{_digest(content)}{SUFFIX}"
    with _failing_typed(path):
        # The same partition may be translated twice at a time, where a node was taken for dead.
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


@contextmanager
def _failing_typed(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputFailed(str(path), error.strerror or str(error)) from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE_BYTES).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _string(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


def _markup_to_json(markup: MarkupOptions | None) -> str | None:
    if markup is None:
        return None
    encoded = {field.name: getattr(markup, field.name) for field in fields(markup)}
    return json.dumps(
        {name: sorted(value) if isinstance(value, frozenset) else value for name, value in encoded.items()}
    )


def _markup_from_json(encoded: str | None) -> MarkupOptions | None:
    if encoded is None:
        return None
    options = json.loads(encoded)
    return MarkupOptions(
        MarkupLanguage(options["language"]),
        frozenset(options["ignore_tags"]),
        frozenset(options["splitting_tags"]),
        frozenset(options["non_splitting_tags"]),
        options["finds_outline"],
    )
