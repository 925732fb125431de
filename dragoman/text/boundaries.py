# ruff: noqa: RUF001 -- the punctuation of several scripts is meant as it stands
"""Where a text may be cut in two."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

Span = tuple[int, int]

_CLAUSE_END = re.compile(
    r"""(?<=[.!?;:,–—…])\s+"""
    r"""|(?<=[.!?;:,–—…]["'”“’»)\]])\s+"""
    r"""|(?<=[。！？；：，、])(?!\s)"""  # written without white space after them
)
_SPACES = re.compile(r"\s+")

_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_TAGS = ("\U000e0020", "\U000e007f")
_REGIONAL_INDICATORS = ("\U0001f1e6", "\U0001f1ff")
_JAMO_VOWELS_AND_TAILS = ("\u1160", "\u11ff")


class Boundaries:
    """Where one text may be cut, by clause and by white space. Each pattern reads the text at most once."""

    def __init__(self, text: str) -> None:
        self.text = text

    def best_cut(self, start: int, end: int) -> Span:
        """Return the left half's end and the right half's start; between them lies white space or nothing.

        In this order: after a clause, if that leaves at least a quarter on both sides; else at white space;
        else between two characters as a reader sees them; else anywhere. Always the nearest to the middle.

        Args:
            start: of a part of the text with two code points or more, white space neither first nor last.
            end: of the same.
        """
        quarter = (end - start) / 4
        cut = _nearest(self._clause_ends, (start, end), (start + quarter, end - quarter))
        if cut is None:
            cut = _nearest(self._spaces, (start, end), (start + 1, end - 1))
        if cut is None:
            middle = start + _middle_boundary(self.text[start:end])
            return middle, middle
        return cut

    @cached_property
    def _clause_ends(self) -> list[Span]:
        return [match.span() for match in _CLAUSE_END.finditer(self.text)]

    @cached_property
    def _spaces(self) -> list[Span]:
        return [match.span() for match in _SPACES.finditer(self.text)]


def _nearest(cuts: Sequence[Span], part: Span, bounds: tuple[float, float]) -> Span | None:
    """Return the cut nearest to the part's middle of those that begin within bounds; the first of two.

    Args:
        cuts: in order.
        part: of the text.
        bounds: first and last place where the cut may begin.
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
    return middle  # one character under a heap of marks


def _is_boundary(text: str, position: int) -> bool:
    """Whether a reader sees a new character begin here: UAX #29 in essence, without its tables."""
    before, after = text[position - 1], text[position]
    if before == _ZERO_WIDTH_JOINER or _extends(after):
        return False
    if _is_between(before, _REGIONAL_INDICATORS) and _is_between(after, _REGIONAL_INDICATORS):
        return _count_before(text, position) % 2 == 0  # flags are pairs
    return True


def _extends(character: str) -> bool:
    """Whether a character belongs to the one before it: marks, variation selectors, joiners."""
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
    """Regional indicators in a row before a position."""
    start = position
    while start and _is_between(text[start - 1], _REGIONAL_INDICATORS):
        start -= 1
    return position - start
