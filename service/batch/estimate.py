"""Estimate of a job before it begins: amount of text, duplicates and duration."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from dragoman.text.segmentation import segment
from dragoman.types import Pair
from service.batch.files import JobFile, read_entries
from service.batch.journal import entry_key
from service.batch.occurrences import OccurrenceCounts
from service.batch.pending_entries import TranslatorOf
from service.formats.entries import Entry

SAMPLE_ENTRIES = 256
SAMPLE_S = 10.0
"""Time limit in seconds for the translation of one pair's sample."""
SEED = 0


@dataclass(slots=True)
class Contents:
    """Counts over all files, with a sample of their entries."""

    num_files: int = 0
    num_entries: int = 0
    num_characters: int = 0
    num_segments: int = 0
    """Segments (mostly sentences) of all entries."""
    num_distinct: int = 0
    """Distinct entries, which is what would be translated."""
    distinct_characters: int = 0
    sample: list[tuple[Pair, Entry]] = field(default_factory=list)
    """Random sample of the distinct entries, each equally likely."""

    @property
    def num_duplicates(self) -> int:
        """Number of entries that repeat an earlier one."""
        return self.num_entries - self.num_distinct


def count_contents(files: Sequence[JobFile]) -> Contents:
    """Read all files once and count their contents. Memory does not grow with their size.

    Raises:
        InputProblem: a file cannot be read.
    """
    contents = Contents(num_files=len(files))
    draw = random.Random(SEED)  # noqa: S311 -- a sample, no secret
    with closing(OccurrenceCounts()) as occurrences:
        for file in files:
            for entry in read_entries(file):
                _count(entry, file.pair, contents)
                if occurrences.add(entry_key(entry, file.pair)):
                    _count_distinct(entry, file.pair, contents, draw)
    return contents


def measure_rate(contents: Contents, translator_of: TranslatorOf) -> float:
    """Translate the sample and return characters per second. One entry per pair comes first, to warm up."""
    pairs = {pair for pair, _ in contents.sample}
    done_characters, taken_s = 0, 0.0
    for pair in sorted(pairs):
        sample = [entry for of, entry in contents.sample if of == pair]
        translator = translator_of(pair)
        list(translator.translate(sample[:1]))
        began_s = time.monotonic()
        for entry, _ in zip(sample, translator.translate(_for_a_while(sample, began_s)), strict=False):
            done_characters += len(entry.text)
        taken_s += time.monotonic() - began_s
    return done_characters / taken_s if taken_s > 0 else 0.0


def _for_a_while(sample: Sequence[Entry], began_s: float) -> Iterator[Entry]:
    for entry in sample:
        if time.monotonic() - began_s > SAMPLE_S:
            return
        yield entry


def _count(entry: Entry, pair: Pair, contents: Contents) -> None:
    contents.num_entries += 1
    contents.num_characters += len(entry.text)
    contents.num_segments += len(segment(entry.text, pair.source).segments)


def _count_distinct(entry: Entry, pair: Pair, contents: Contents, draw: random.Random) -> None:
    """Keep a sample by reservoir sampling (Vitter 1985, algorithm R)."""
    contents.num_distinct += 1
    contents.distinct_characters += len(entry.text)
    if len(contents.sample) < SAMPLE_ENTRIES:
        contents.sample.append((pair, entry))
    elif (index := draw.randrange(contents.num_distinct)) < SAMPLE_ENTRIES:
        contents.sample[index] = (pair, entry)
