"""A block written as markup again, with its translation in it."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from dragoman.types import Span, Translation
from service.markup.blocks import Block, is_spaced, neighbour
from service.markup.escaping import escape
from service.markup.options import MarkupLanguage
from service.markup.stretches import Placed, cut, deal_out
from service.markup.tag_placement import place
from service.markup.tokens import Kind

_IN_REFERENCE = re.compile(r"[\w#]")
_MAX_REFERENCE_CHARS = 40


def write(block: Block, translation: Translation, language: MarkupLanguage) -> str:
    """A block's markup around its translation; what the translation left as it was is written as it was."""
    placed, at_end = deal_out(block.marks, cut(block.text, translation))
    writer = _Writer(block, translation.text, language)
    for stretch in placed:
        writer.keep(stretch.still)
        if stretch.stretch.is_unchanged:
            writer.copy(stretch)
        else:
            writer.change(stretch)
    writer.keep(at_end)
    return "".join(writer.written)


@dataclass(slots=True, eq=False)
class _Writer:
    """Writes stretch by stretch."""

    block: Block
    translated: str
    language: MarkupLanguage
    written: list[str] = field(default_factory=list)
    last: str = ""
    """Character that was written last and is read; nothing at the start."""
    owes_space: bool = False
    """Whether white space must come before what is read next."""
    parts_letters: bool = False
    """Whether it must if that begins with a letter: signs that parted a word from the next are gone."""

    def keep(self, marks: Iterable[int]) -> None:
        """Write marks as they stand."""
        for i in marks:
            mark = self.block.marks[i]
            if mark.kind is Kind.WORD:
                self._begin("x")
                self.last = "x"
            self.written.append(mark.raw)

    def copy(self, placed: Placed) -> None:
        """Write a stretch as it was."""
        block, source = self.block, placed.stretch.source
        self._begin(block.text[source.start])
        at = self._after_part(source)
        for i in placed.moving:
            mark = block.marks[i]
            self.written += (_raw(block, Span(at, mark.at)), mark.raw)
            at = mark.at
        end = source.end
        if end < len(block.text):
            end = self._unsafe_from(Span(at, end))  # what comes next is not what came next
        self.written += (
            _raw(block, Span(at, end)),
            escape(block.text[end : source.end], self.language),
        )
        self.last = block.text[source.end - 1]

    def change(self, placed: Placed) -> None:
        """Write a stretch's translation."""
        at, end = placed.stretch.target
        for put in place(self.block, self.translated, placed):
            self._say(at, put.at)
            self._mark(put.mark, put.at)
            at = put.at
        self._say(at, end)

    def _begin(self, first: str) -> None:
        must_part = (self.owes_space and not first.isspace()) or (self.parts_letters and first.isalnum())
        if must_part:
            self.written.append(" ")
        self.owes_space = self.parts_letters = False

    def _say(self, start: int, end: int) -> None:
        if start < end:
            self._begin(self.translated[start])
            self.written.append(escape(self.translated[start:end], self.language))
            self.last = self.translated[end - 1]

    def _mark(self, i: int, at: int) -> None:
        mark = self.block.marks[i]
        if mark.kind is Kind.WORD:
            needs_space = is_spaced(self.block, i, -1) and self.last != "" and not self.last.isspace()
            needs_space = needs_space or (self.last.isalnum() and not self._touches_letter(i, -1))
            self.owes_space = self.owes_space or needs_space
            self._begin("x")
            self.last, self.owes_space = "x", is_spaced(self.block, i, 1)
            self.parts_letters = not self._touches_letter(i, 1)
        elif mark.kind is Kind.OPEN and not self.translated[at : at + 1].isspace():
            self._begin("x")  # white space that is owed goes outside
        if mark.kind is not Kind.TEXT or self._is_harmless(i, at):
            self.written.append(mark.raw)

    def _touches_letter(self, i: int, step: int) -> bool:
        """Whether a word that is not read has a letter, or another such word, right before or after it."""
        kind, at = neighbour(self.block.marks, i, step), self.block.marks[i].at
        if kind is not None:
            return kind is Kind.WORD
        return (self.block.text[at - 1 : at] if step < 0 else self.block.text[at : at + 1]).isalnum()

    def _is_harmless(self, i: int, at: int) -> bool:
        """Whether white space beside a tag stands beside other white space again."""
        marks, text = self.block.marks, self.translated
        if any(neighbour(marks, i, step) is Kind.WORD for step in (-1, 1)):
            return False  # the word has seen to it
        return text[max(0, at - 1) : at + 1].strip() != text[max(0, at - 1) : at + 1]

    def _after_part(self, span: Span) -> int:
        """Write the second of two characters that one reference says, if the first is not of the span."""
        at = span.start
        while at < span.end and self._is_second(at):
            self.written.append(escape(self.block.text[at], self.language))
            at += 1
        return at

    def _is_second(self, at: int) -> bool:
        """Whether a character is written with the one before it."""
        return self.block.raws[at] == "" and not self.block.text[at].isspace()

    def _unsafe_from(self, span: Span) -> int:
        """Where characters at the end begin that may mean something else before another text than their own.

        That is a `<` or `&` that is no markup, a reference without its semicolon, and `]`, as in `]]>`.
        """
        raws, (start, end) = self.block.raws, span
        if start < end and self._is_second(end):
            return end - 1
        if start < end and raws[end - 1][-1:] in ("<", "]"):
            return end - 1
        for at in range(end - 1, max(start, end - _MAX_REFERENCE_CHARS) - 1, -1):
            if "&" in raws[at]:
                return end if raws[at].endswith(";") else at
            if not _IN_REFERENCE.fullmatch(raws[at]):
                return end
        return end


def _raw(block: Block, span: Span) -> str:
    """How characters are written; CDATA sections of which a part is missing are written as plain text."""
    written: list[str] = []
    at = span.start
    first = bisect_left(block.sections, span.start, key=lambda section: section.start)
    for i in range(first, len(block.sections)):
        section = block.sections[i]
        if section.end > span.end:
            break
        written += block.raws[at : section.start]
        written.append(section.raw)
        at = section.end
    written += block.raws[at : span.end]
    return "".join(written)
