"""Parallel text on disk: reading and cleaning."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, repeat
from math import isqrt
from pathlib import Path
from random import Random

from dragoman.text.normalization import normalise_segment
from export.compression import read_lines
from training.config import Corpus, DataSettings
from training.errors import CorpusError

COLUMNS_WITHOUT_TAG = 2
COLUMNS_WITH_TAG = 3


@dataclass(frozen=True, slots=True)
class TextPair:
    source: str
    target: str


def read_pairs(corpus: Corpus, data: DataSettings, seed: int) -> Iterator[TextPair]:
    """Yield clean, distinct pairs of a corpus, in file order.

    Args:
        corpus: names the files; `max_pairs` of their lines are drawn if there are more.
        data: says which column is the source, and how much the lengths of the sides may differ.
        seed: decides which lines are drawn.

    Raises:
        CorpusError: a file cannot be read, or a line is not UTF-8 or does not have two or three columns.
    """
    seen: set[bytes] = set()
    for path, chosen in zip(corpus.files, _draw_lines(corpus, seed), strict=True):
        for pair, tag, where in read_file(path, chosen, is_reversed=data.is_reversed):
            key = hashlib.blake2b(f"{pair.source}\t{pair.target}".encode(), digest_size=12).digest()
            is_wanted = key not in seen and tag.startswith(corpus.tag_prefix)
            if is_wanted and is_clean(pair, data.max_length_ratio):
                seen.add(key)
                yield from repeat(pair, _num_readings(tag, where) if corpus.has_counts else 1)


def _num_readings(count: str, where: str) -> int:
    if not re.fullmatch("[1-9][0-9]*", count):
        raise CorpusError(f"{where}: the tag {count!r} must be a number of occurrences, as has_counts says")
    return isqrt(int(count))


def is_clean(pair: TextPair, max_length_ratio: float) -> bool:
    """Return whether both sides contain text of comparable length."""
    short_len, long_len = sorted((len(pair.source), len(pair.target)))
    return short_len > 0 and long_len <= max_length_ratio * short_len + 20


def _draw_lines(corpus: Corpus, seed: int) -> list[set[int] | None]:
    """Return the numbers of the lines to read from each file, or None for all of them."""
    if corpus.max_pairs is None:
        return [None] * len(corpus.files)
    counts = [sum(1 for _ in read_lines(path, CorpusError)) for path in corpus.files]
    drawn = Random(f"{seed} {corpus.name}").sample(  # noqa: S311 -- reproducible, not secret
        range(sum(counts)), min(corpus.max_pairs, sum(counts))
    )
    ends = list(accumulate(counts))
    found: list[set[int] | None] = []
    for end, count in zip(ends, counts, strict=True):
        found.append({index - (end - count) + 1 for index in drawn if end - count <= index < end})
    return found


def read_file(
    path: Path, chosen: set[int] | None, *, is_reversed: bool
) -> Iterator[tuple[TextPair, str, str]]:
    """Yield each pair with its tag, which is empty if there is none, and where it stands."""
    for number, line in enumerate(read_lines(path, CorpusError), start=1):
        if chosen is None or number in chosen:
            where = f"{path}:{number}"
            yield *_parse(line, where, is_reversed=is_reversed), where


def _parse(line: str, where: str, *, is_reversed: bool) -> tuple[TextPair, str]:
    columns = line.split("\t")
    if len(columns) not in {COLUMNS_WITHOUT_TAG, COLUMNS_WITH_TAG}:
        raise CorpusError(f"{where}: {len(columns)} columns between tabs, expected (tag,) source, target")
    source, target = (normalise_segment(column) for column in columns[-2:])
    tag = columns[0] if len(columns) == COLUMNS_WITH_TAG else ""
    return TextPair(target, source) if is_reversed else TextPair(source, target), tag


def write_pairs(path: Path, pairs: Iterable[TextPair], *, is_reversed: bool) -> int:
    """Write lines that `read_file` reads, and return their number."""
    number = 0
    with path.open("w", encoding="utf8") as file:
        for pair in pairs:
            columns = (pair.target, pair.source) if is_reversed else (pair.source, pair.target)
            file.write("\t".join(columns) + "\n")
            number += 1
    return number
