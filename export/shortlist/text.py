"""Lines of plain or parallel text files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from export.bundle import ExportError
from export.compression import UNREADABLE, open_decompressed

COLUMNS = (2, 3)

Item = TypeVar("Item")


def read_lines(paths: Sequence[Path]) -> list[str]:
    """Return the lines of UTF-8 files, uncompressed by their suffixes, without blank lines.

    Raises:
        ExportError: a file cannot be read or is not UTF-8.
    """
    return [line for path in paths for _, line in _read(path) if line.strip()]


def read_pairs(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Return sources and targets: a pair per line, columns separated by tabs, optionally a tag first.

    Raises:
        ExportError: a file cannot be read or is not UTF-8, or a line does not have two or three columns.
    """
    pairs: list[tuple[str, str]] = []
    for path in paths:
        for number, line in _read(path):
            columns = line.split("\t")
            if len(columns) not in COLUMNS:
                raise ExportError(f"{path}:{number}: {len(columns)} columns, expected (tag,) source, target")
            pairs.append((columns[-2], columns[-1]))
    return pairs


def evenly_spaced(items: Sequence[Item], max_items: int) -> list[Item]:
    """Return at most `max_items` items, evenly spaced, in their order."""
    indices = np.linspace(0, len(items), min(max_items, len(items)), endpoint=False).astype(np.int64)
    return [items[index] for index in indices.tolist()]


def _read(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with open_decompressed(path) as lines:
            for number, line in enumerate(lines, start=1):
                yield number, line.decode("utf8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ExportError(f"{path}:{number}: not UTF-8: {error}") from error
    except UNREADABLE as error:
        raise ExportError(f"{path}: cannot be read after line {number}: {error}") from error
