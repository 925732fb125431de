"""Converts tokens to blocks: running text, with the markup in it as marks between characters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from service.markup.tokens import MarkupToken, TokenKind

SPACES = "\t\n\f\r "
"""White space of HTML and XML, which does not include the no-break space."""

_RUN = re.compile(f"[{SPACES}]+|[^{SPACES}]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """Markup between two characters of a text."""

    kind: TokenKind
    """TEXT for white space that collapses into the white space before it."""
    at: int
    """Position of the character after it."""
    raw: str
    partner: int | None = None
    """For OPEN and CLOSE: index of the other half among the block's marks. If that is in another block: -1
    before this one, the number of marks after it."""


@dataclass(frozen=True, slots=True)
class CdataSection:
    """A CDATA section in a text."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Text that is translated as a whole, with the markup in it."""

    text: str
    raws: Sequence[str]
    """Source form of each character of `text`; within CDATA sections, its form outside of one."""
    marks: Sequence[Mark]
    """Marks in the order of the markup."""
    sections: Sequence[CdataSection]


def neighbour_kind(marks: Sequence[Mark], i: int, step: int) -> TokenKind | None:
    """Return the kind of a TEXT or WORD mark before (`step` -1) or after (1) a mark; None for a character."""
    at = marks[i].at
    i += step
    while 0 <= i < len(marks) and marks[i].at == at:
        if marks[i].kind in {TokenKind.TEXT, TokenKind.WORD}:
            return marks[i].kind
        i += step
    return None


def is_spaced(block: Block, i: int, step: int) -> bool:
    """Return whether a mark has white space before (`step` -1) or after (1) it."""
    kind, at = neighbour_kind(block.marks, i, step), block.marks[i].at
    if kind is not None:
        return kind is TokenKind.TEXT
    return (block.text[at - 1 : at] if step < 0 else block.text[at : at + 1]).isspace()


def blocks(tokens: Sequence[MarkupToken]) -> list[Block | str]:
    """Return the blocks, and between them markup that holds no text."""
    parts: list[Block | str] = []
    start = 0
    for end in [*(i for i, token in enumerate(tokens) if token.kind is TokenKind.BREAK), len(tokens)]:
        if any(token.kind is TokenKind.TEXT and token.text.strip() for token in tokens[start:end]):
            builder = _BlockBuilder(start)
            for i in range(start, end):
                builder.add(i, tokens[i])
            parts.append(builder.finish())
        else:
            parts += [token.raw for token in tokens[start:end]]
        parts += [token.raw for token in tokens[end : end + 1]]
        start = end + 1
    return parts


@dataclass(slots=True)
class _BlockBuilder:
    """Builder of a block."""

    first_token: int
    text: list[str] = field(default_factory=list)
    raws: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    sections: list[CdataSection] = field(default_factory=list)
    mark_of: dict[int, int] = field(default_factory=dict)
    """Index of the mark of each token."""
    is_folded: bool = False
    """Whether the last character is white space into which more white space collapses."""
    is_apart: bool = False
    """Whether a WORD, which is not in the text, came after the last character."""

    def add(self, i: int, token: MarkupToken) -> None:
        if token.kind is TokenKind.TEXT:
            if token.keeps_space:
                self._add_characters(token.text, token.raws)
                self.is_folded = False
            else:
                self._fold(token)
            if token.is_section:
                end = len(self.text)
                self.sections.append(CdataSection(end - len(token.text), end, token.raw))
            return
        self.mark_of[i] = len(self.marks)
        self.marks.append(Mark(token.kind, len(self.text), token.raw, token.partner))
        self.is_apart = self.is_apart or token.kind is TokenKind.WORD
        if token.ends_line and self.text and not self.text[-1].isspace():
            self._add_characters(" ", [""])
            self.is_folded = True

    def finish(self) -> Block:
        """Return the block; collapsible white space at the end becomes a mark."""
        if self.is_folded:
            self.text.pop()
            at, raw = len(self.text), self.raws.pop()
            num_before = sum(mark.at <= at for mark in self.marks)
            after = [Mark(mark.kind, at, mark.raw, mark.partner) for mark in self.marks[num_before:]]
            self.marks[num_before:] = [Mark(TokenKind.TEXT, at, raw), *after]
            for token, mark in self.mark_of.items():
                self.mark_of[token] = mark + (mark >= num_before)
        marks = [Mark(mark.kind, mark.at, mark.raw, self._partner(mark)) for mark in self.marks]
        return Block("".join(self.text), self.raws, marks, self.sections)

    def _partner(self, mark: Mark) -> int | None:
        if mark.partner is None:
            return None
        elsewhere = -1 if mark.partner < self.first_token else len(self.marks)
        return self.mark_of.get(mark.partner, elsewhere)

    def _fold(self, token: MarkupToken) -> None:
        for run in _RUN.finditer(token.text):
            raws = token.raws[run.start() : run.end()]
            if run[0][0] not in SPACES:
                self._add_characters(run[0], raws)
                self.is_folded = False
            elif self.is_folded or not self.text:
                self.marks.append(Mark(TokenKind.TEXT, len(self.text), "".join(raws)))
            else:
                self._add_characters(" ", ["".join(raws)])
                self.is_folded = True

    def _add_characters(self, text: str, raws: Sequence[str]) -> None:
        if self.is_apart and self.text and self.text[-1].isalnum() and text[0].isalnum():
            self.text.append(" ")  # "pre<img>post" is two words
            self.raws.append("")
        self.is_apart = False
        self.text += text
        self.raws += raws
