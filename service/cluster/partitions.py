"""Partitions of a job: files of entries to translate, and files of their outcomes.

All nodes see them under the same path. A file gets its name when it is complete, and the name includes a
digest of all its bytes, so an incomplete or damaged file is never read as a partition.
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
"""Suffix of an incomplete file."""
PAIR = b"pair"
"""Metadata key, in the schema of a file of entries, for its languages."""

# Bytes, as UTF-8 cannot encode every Python string.
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
    """Entries without their places."""


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
        with _failing_typed(self.path):
            if self.entries_path.exists():
                shutil.rmtree(self.entries_path)
            for folder in (self.entries_path, self.outcomes_path):
                folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove the whole folder, if it exists."""
        if self.path.exists():
            with _failing_typed(self.path):
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
            "text": [_bytes(entry.text) for entry in entries.values()],
            "markup": [_markup_to_json(entry.markup) for entry in entries.values()],
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
        Entry(_string(text), "", _markup_from_json(markup))
        for text, markup in zip(columns["text"], columns["markup"], strict=True)
    )
    return Partition(pair, tuple(columns["key"]), tuple(entries))


def write_outcomes(folder: Path, stem: str, keys: Sequence[bytes], outcomes: Sequence[Outcome]) -> Path:
    """Write the outcomes of a partition's entries.

    Raises:
        OutputFailed: the file cannot be written, for example because the disk is full.
    """
    texts = [_bytes(each.text) if isinstance(each, Translated) else None for each in outcomes]
    problems = [each.problem if isinstance(each, Untranslated) else None for each in outcomes]
    are_cut = [isinstance(each, Translated) and each.is_cut for each in outcomes]
    columns = {"key": list(keys), "text": texts, "problem": problems, "is_cut": are_cut}
    return _write_whole(pa.table(columns, schema=OUTCOMES), folder, stem)


def read_outcomes(path: Path) -> dict[bytes, Outcome]:
    """Read the outcomes of a partition's entries.

    Raises:
        PartitionDamaged: the file is not the same as what was written.
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
