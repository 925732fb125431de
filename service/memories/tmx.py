"""Pairs in TMX files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dragoman.types import Pair
from service.formats.isolation import TRUSTED, RecordReader
from service.formats.records import RecordKind
from service.memories.pairs import SegmentPair


@dataclass(slots=True)
class TmxPairs:
    """The pairs of one file in two languages. `num_skipped` is complete after the iteration."""

    source: BinaryIO
    """Seekable file; it is read from its beginning."""
    pair: Pair
    """Languages; `de` matches `de-AT` too."""
    reader: RecordReader = TRUSTED
    num_skipped: int = 0
    """Units without a pair: a language is missing, a segment is empty, or one has a code without content."""

    def __iter__(self) -> Iterator[SegmentPair]:
        """Yield the pairs, lazily.

        Raises:
            FileFormatError: the file cannot be read.
            ReaderStoppedError: the reader was stopped.
        """
        for record in self.reader.read(RecordKind.TMX, self.source, self.pair):
            if record:
                yield SegmentPair(*record)
            else:
                self.num_skipped += 1
