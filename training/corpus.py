"""Parallel text on disk: reading, cleaning, and copies in other shapes."""

import bz2
import gzip
import hashlib
import lzma
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

import numpy as np

from dragoman.text.normalise import normalise_segment
from training.config import Corpus, Data, Variants

COLUMNS_WITHOUT_TAG = 2
COLUMNS_WITH_TAG = 3


@dataclass(frozen=True, slots=True)
class Pair:
    source: str
    target: str


class CorpusError(ValueError):
    """A corpus file is not what it should be; the message names file and line."""


def read_pairs(corpus: Corpus, data: Data) -> Iterator[Pair]:
    """Clean, distinct pairs of a corpus, in file order."""
    seen: set[bytes] = set()
    for path in corpus.files:
        for pair in _read_file(path, is_reversed=data.is_reversed):
            key = hashlib.blake2b(f"{pair.source}\t{pair.target}".encode(), digest_size=12).digest()
            if key not in seen and is_clean(pair, data.max_length_ratio):
                seen.add(key)
                yield pair


def is_clean(pair: Pair, max_length_ratio: float) -> bool:
    """Whether both sides hold text of comparable length."""
    short_len, long_len = sorted((len(pair.source), len(pair.target)))
    return short_len > 0 and long_len <= max_length_ratio * short_len + 20


def with_variants(pairs: Iterable[Pair], variants: Variants, seed: int) -> Iterator[Pair]:
    """Every pair, and after some of them a copy in another shape."""
    rng = np.random.default_rng(seed)
    for pair in pairs:
        yield pair
        lower, upper, no_stop = rng.random(3)
        if lower < variants.lower_source:
            yield Pair(pair.source.lower(), pair.target)
        if upper < variants.upper:
            yield Pair(pair.source.upper(), pair.target.upper())
        if no_stop < variants.no_final_stop and pair.source.endswith(".") and pair.target.endswith("."):
            yield Pair(pair.source.rstrip("."), pair.target.rstrip("."))


def open_text(path: Path) -> AbstractContextManager[TextIO]:
    """Open a plain, xz, gzip or bzip2 text file by its ending."""
    openers = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
    opener = openers.get(path.suffix, open)
    return cast("AbstractContextManager[TextIO]", opener(path, "rt", encoding="utf8", newline="\n"))


def _read_file(path: Path, *, is_reversed: bool) -> Iterator[Pair]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            columns = line.rstrip("\n").split("\t")
            if len(columns) not in {COLUMNS_WITHOUT_TAG, COLUMNS_WITH_TAG}:
                raise CorpusError(f"{path}:{number}: {len(columns)} columns, expected 2 or 3")
            source, target = (normalise_segment(column) for column in columns[-2:])
            yield Pair(target, source) if is_reversed else Pair(source, target)
