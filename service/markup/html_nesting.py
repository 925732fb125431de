"""Pairs start tags and end tags of an HTML document, and finds where elements without an end tag end."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from service.markup.html_lexemes import Lexeme, LexemeKind
from service.markup.html_names import ENDED_BY, VOID


@dataclass(frozen=True, slots=True)
class Nesting:
    """Pairs of tags and ends of elements, by positions of lexemes."""

    partners: dict[int, int]
    """Start tags to their end tags, and vice versa."""
    ends: dict[int, int]
    """Start tags to where their elements end: after the end tag, or at the lexeme that ended the element."""


@dataclass(slots=True)
class _Block:
    """An open element that separates texts, and the open elements in it that do not."""

    name: str
    start: int
    inline: list[tuple[str, int]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Number of open elements in `inline`, by name."""


def nest(lexemes: Sequence[Lexeme], is_block: Callable[[str], bool]) -> Nesting:
    """Pair tags within each block: an inline element ends with its block at the latest.

    Of crossing elements, `<b><i></b></i>`, the inner one ends where the outer one does; its end tag stays
    without a start tag.

    Args:
        lexemes: lexemes of the whole document.
        is_block: whether an element of this name is a block.
    """
    nester = _OpenElements(len(lexemes))
    for i, lexeme in enumerate(lexemes):
        if lexeme.kind is LexemeKind.START:
            if is_block(lexeme.name):
                nester.end_implied(lexeme.name, i)
            if lexeme.name in VOID or lexeme.is_empty:
                nester.ends[i] = i + 1
            elif is_block(lexeme.name):
                nester.open_block(lexeme.name, i)
            else:
                nester.open_inline(lexeme.name, i)
        elif lexeme.kind is LexemeKind.END:
            if is_block(lexeme.name):
                nester.close_block(lexeme.name, i)
            else:
                nester.close_inline(lexeme.name, i)
    return nester.finish()


class _OpenElements:
    """Stack of open elements."""

    def __init__(self, num_lexemes: int) -> None:
        self.partners: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self._num_lexemes = num_lexemes
        self._blocks = [_Block("", -1)]
        self._counts: Counter[str] = Counter()

    def open_block(self, name: str, i: int) -> None:
        self._blocks.append(_Block(name, i))
        self._counts[name] += 1

    def open_inline(self, name: str, i: int) -> None:
        self._blocks[-1].inline.append((name, i))
        self._blocks[-1].counts[name] += 1

    def end_implied(self, name: str, i: int) -> None:
        while name in ENDED_BY.get(self._blocks[-1].name, ()):
            self._end_block(i)

    def close_block(self, name: str, i: int) -> None:
        if not self._counts[name]:
            return
        while self._blocks[-1].name != name:
            self._end_block(i)
        start = self._end_block(i)
        self._pair(start, i)

    def close_inline(self, name: str, i: int) -> None:
        block = self._blocks[-1]
        if not block.counts[name]:
            return
        while block.inline[-1][0] != name:
            self._end_inline(block, i)
        self._pair(self._end_inline(block, i), i)

    def finish(self) -> Nesting:
        while self._blocks:
            self._end_block(self._num_lexemes)
        del self.ends[-1]  # the document itself
        return Nesting(self.partners, self.ends)

    def _pair(self, start: int, end: int) -> None:
        self.partners[start], self.partners[end] = end, start
        self.ends[start] = end + 1

    def _end_block(self, i: int) -> int:
        block = self._blocks.pop()
        while block.inline:
            self._end_inline(block, i)
        self._counts[block.name] -= 1
        self.ends[block.start] = i
        return block.start

    def _end_inline(self, block: _Block, i: int) -> int:
        name, start = block.inline.pop()
        block.counts[name] -= 1
        self.ends[start] = i
        return start
