# ruff: noqa: RUF001 -- punctuation of several scripts is intended
"""Positions where a text may be cut in two."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence

Bounds = tuple[int, int]

_CLAUSE_END = re.compile(
    r"""(?<=[.!?;:,–—…])\s+"""
    r"""|(?<=[.!?;:,–—…]["'”“’»)\]])\s+"""
    r"""|(?<=[。！？；：，、])(?!\s)"""  # these scripts have no white space after punctuation
)
_SPACES = re.compile(r"\s+")

_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_TAGS = ("\U000e0020", "\U000e007f")
_REGIONAL_INDICATORS = ("\U0001f1e6", "\U0001f1ff")
_JAMO_VOWELS_AND_TAILS = ("\u1160", "\u11ff")


class Boundaries:
    """Positions where one text may be cut: clause ends, white space. Each pattern scans it at most once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], list[Bounds]] = {}

    def best_cut(self, start: int, end: int) -> Bounds:
        """Return the left half's end and the right half's start, with white space or nothing between them.

        Choose the cut nearest to the middle: after a clause, if that leaves at least a quarter on both sides;
        else at white space; else between two grapheme clusters; else anywhere.

        Args:
            start: start of a part with at least two characters and no white space at its ends.
            end: end of that part.
        """
        quarter = (end - start) / 4
        cut = _nearest(self._spans(_CLAUSE_END), (start, end), (start + quarter, end - quarter))
        if cut is None:
            cut = _nearest(self._spans(_SPACES), (start, end), (start + 1, end - 1))
        if cut is None:
            middle = start + _middle_boundary(self.text[start:end])
            return middle, middle
        return cut

    def _spans(self, pattern: re.Pattern[str]) -> list[Bounds]:
        if pattern not in self._found:
            self._found[pattern] = [match.span() for match in pattern.finditer(self.text)]
        return self._found[pattern]


def _nearest(cuts: Sequence[Bounds], part: Bounds, bounds: tuple[float, float]) -> Bounds | None:
    """Return the cut nearest to the part's middle that starts within bounds; of two equally near, the first.

    Args:
        cuts: candidate cuts, in ascending order.
        part: span of the text to cut.
        bounds: first and last position where the cut may start.
    """
    twice_middle = sum(part)
    index = bisect_left(cuts, twice_middle, key=sum)
    around = [cut for cut in cuts[max(0, index - 1) : index + 1] if bounds[0] <= cut[0] <= bounds[1]]
    return min(around, key=lambda cut: abs(sum(cut) - twice_middle), default=None)


def _middle_boundary(text: str) -> int:
    middle = len(text) // 2
    for distance in range(middle):
        for position in (middle - distance, middle + distance):
            if _is_boundary(text, position):
                return position
    return middle  # all one grapheme cluster


def _is_boundary(text: str, position: int) -> bool:
    """Return whether a grapheme cluster starts here: UAX #29 in essence, without its tables."""
    before, after = text[position - 1], text[position]
    if before == _ZERO_WIDTH_JOINER or _is_extender(after):
        return False
    if _is_between(before, _REGIONAL_INDICATORS) and _is_between(after, _REGIONAL_INDICATORS):
        return _count_before(text, position) % 2 == 0  # flags are pairs of indicators
    return True


def _is_extender(character: str) -> bool:
    """Return whether a character continues the one before it: a mark, variation selector or joiner."""
    return (
        character == _ZERO_WIDTH_JOINER
        or unicodedata.category(character).startswith("M")
        or _is_between(character, _SKIN_TONES)
        or _is_between(character, _TAGS)
        or _is_between(character, _JAMO_VOWELS_AND_TAILS)
    )


def _is_between(character: str, ends: tuple[str, str]) -> bool:
    return ends[0] <= character <= ends[1]


def _count_before(text: str, position: int) -> int:
    """Count the consecutive regional indicators before a position."""
    start = position
    while start and _is_between(text[start - 1], _REGIONAL_INDICATORS):
        start -= 1
    return position - start
