"""Headers and footers of pages: lines that are repeated at the edges of pages, and page numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from service.formats.pdf_lines import PdfLine

_EDGE_LINES = 2
"""Number of lines at the upper and at the lower edge of a page that can be its header and its footer."""
_MIN_GAP_EM = 1.6
"""Distance from the text, in font sizes, at least."""
_MIN_NUMBERED_PAGES = 3
_BASELINE_POINTS = 3.0
_SAME_SIZE = 1.05
_DIGITS = re.compile(r"[0-9]+")
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RunningLines:
    """Headers and footers, by the ids of their lines."""

    all: frozenset[int]
    kept: frozenset[int]
    """The first of each; repetitions and counted pages are left out."""


def find_running_lines(pages: Sequence[Sequence[PdfLine]], body_size: float) -> RunningLines:
    """Find headers and footers: the same text at the same height of several pages, or a page number in it."""
    groups: dict[_Key, list[PdfLine]] = {}
    for lines in pages:
        for line in _edge_lines(lines, body_size):
            key = _DIGITS.sub("#", line.text), round(line.baseline / _BASELINE_POINTS)
            groups.setdefault(key, []).append(line)
    found, kept = set[int](), set[int]()
    for group in groups.values():
        is_repeated = len({line.text for line in group}) == 1
        if len({line.page for line in group}) > 1 and (is_repeated or _counts_pages(group)):
            found |= {id(line) for line in group}
            is_left_out = is_repeated or len(group) >= _MIN_NUMBERED_PAGES
            kept |= {id(line) for line in (group[:1] if is_left_out else group)}
    return RunningLines(frozenset(found), frozenset(kept))


def _edge_lines(lines: Sequence[PdfLine], body_size: float) -> list[PdfLine]:
    """Return the lines at the edges of a page that a gap separates from the text between them."""
    ordered = sorted(lines, key=lambda line: -line.baseline)
    edges = [*_apart(ordered, body_size), *_apart(ordered[::-1], body_size)]
    return list({id(line): line for line in edges}.values())


def _apart(ordered: Sequence[PdfLine], body_size: float) -> Sequence[PdfLine]:
    for i, (line, following) in enumerate(pairwise(ordered[: _EDGE_LINES + 1]), start=1):
        if line.size > _SAME_SIZE * body_size:
            return ()
        if abs(line.baseline - following.baseline) > _MIN_GAP_EM * body_size:
            return ordered[:i]
    return ()


def _counts_pages(group: Sequence[PdfLine]) -> bool:
    """Return whether one number in each line differs from that of the page by the same amount."""
    numbers = [[int(digits[:9]) for digits in _DIGITS.findall(line.text)] for line in group]
    varying = [i for i in range(len(numbers[0])) if len({each[i] for each in numbers}) > 1]
    if len(varying) != 1:
        return False
    offsets = {each[varying[0]] - line.page for each, line in zip(numbers, group, strict=True)}
    return len(offsets) == 1
