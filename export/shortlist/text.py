"""Lines of plain or parallel text files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from export.bundle import ExportError
from export.compression import read_lines

COLUMNS = (2, 3)

Item = TypeVar("Item")


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Return the lines of UTF-8 files, uncompressed by their suffixes, without blank lines.

    Raises:
        ExportError: a file cannot be read or is not UTF-8.
    """
    return [line for path in paths for line in read_lines(path, ExportError) if line.strip()]


def read_pairs(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Return sources and targets: a pair per line, columns separated by tabs, optionally a tag first.

    Raises:
        ExportError: a file cannot be read or is not UTF-8, or a line does not have two or three columns.
    """
    pairs: list[tuple[str, str]] = []
    for path in paths:
        for number, line in enumerate(read_lines(path, ExportError), start=1):
            columns = line.split("\t")
            if len(columns) not in COLUMNS:
                raise ExportError(f"{path}:{number}: {len(columns)} columns, expected (tag,) source, target")
            pairs.append((columns[-2], columns[-1]))
    return pairs


def evenly_spaced(items: Sequence[Item], max_items: int) -> list[Item]:
    """Return at most `max_items` items, evenly spaced, in their order."""
    indices = np.linspace(0, len(items), min(max_items, len(items)), endpoint=False).astype(np.int64)
    return [items[index] for index in indices.tolist()]
