"""Writes a block as markup, with its translation in it."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from dragoman.types import Span, Translation
from service.markup.blocks import Block, is_spaced, neighbour_kind
from service.markup.escaping import escape
from service.markup.options import MarkupLanguage
from service.markup.stretches import StretchMarks, assign_marks, cut
from service.markup.tag_placement import place
from service.markup.tokens import TokenKind

_IN_REFERENCE = re.compile(r"[\w#]")
_MAX_REFERENCE_CHARS = 40


def write(block: Block, translation: Translation, language: MarkupLanguage) -> str:
    """Return a block's markup around its translation; what the translation left unchanged stays as it was."""
    placed, at_end = assign_marks(block.marks, cut(block.text, translation))
    writer = _BlockRenderer(block, translation.text, language)
    for stretch in placed:
        writer.keep(stretch.still)
        if stretch.stretch.is_unchanged:
            writer.copy(stretch)
        else:
            writer.change(stretch)
    writer.keep(at_end)
    return "".join(writer.written)


@dataclass(slots=True, eq=False)
class _BlockRenderer:
    """Writes a block, stretch by stretch."""

    block: Block
    translated: str
    language: MarkupLanguage
    written: list[str] = field(default_factory=list)
    last: str = ""
    """Last character written that a reader sees; empty at the start."""
    owes_space: bool = False
    """Whether white space must precede the next text."""
    parts_letters: bool = False
    """The same for text that begins with a letter: punctuation that separated a word from it is gone."""

    def keep(self, marks: Iterable[int]) -> None:
        """Write marks as they are."""
        for i in marks:
            mark = self.block.marks[i]
            if mark.kind is TokenKind.WORD:
                self._write_pending_space("x")
                self.last = "x"
            self.written.append(mark.raw)

    def copy(self, placed: StretchMarks) -> None:
        """Write an unchanged stretch."""
        block, source = self.block, placed.stretch.source
        self._write_pending_space(block.text[source.start])
        at = self._write_rest_of_reference(source)
        for i in placed.moving:
            mark = block.marks[i]
            self.written += (_raw(block, Span(at, mark.at)), mark.raw)
            at = mark.at
        end = source.end
        if end < len(block.text):
            end = self._unsafe_start(Span(at, end))  # other text may follow than before
        self.written += (
            _raw(block, Span(at, end)),
            escape(block.text[end : source.end], self.language),
        )
        self.last = block.text[source.end - 1]

    def change(self, placed: StretchMarks) -> None:
        """Write the translation of a changed stretch."""
        at, end = placed.stretch.target
        for put in place(self.block, self.translated, placed):
            self._write_text(at, put.at)
            self._write_mark(put.mark, put.at)
            at = put.at
        self._write_text(at, end)

    def _write_pending_space(self, first: str) -> None:
        must_part = (self.owes_space and not first.isspace()) or (self.parts_letters and first.isalnum())
        if must_part:
            self.written.append(" ")
        self.owes_space = self.parts_letters = False

    def _write_text(self, start: int, end: int) -> None:
        if start < end:
            self._write_pending_space(self.translated[start])
            self.written.append(escape(self.translated[start:end], self.language))
            self.last = self.translated[end - 1]

    def _write_mark(self, i: int, at: int) -> None:
        mark = self.block.marks[i]
        if mark.kind is TokenKind.WORD:
            needs_space = is_spaced(self.block, i, -1) and self.last != "" and not self.last.isspace()
            needs_space = needs_space or (self.last.isalnum() and not self._touches_letter(i, -1))
            self.owes_space = self.owes_space or needs_space
            self._write_pending_space("x")
            self.last, self.owes_space = "x", is_spaced(self.block, i, 1)
            self.parts_letters = not self._touches_letter(i, 1)
        elif mark.kind is TokenKind.OPEN and not self.translated[at : at + 1].isspace():
            self._write_pending_space("x")  # pending white space goes outside
        if mark.kind is not TokenKind.TEXT or self._is_harmless(i, at):
            self.written.append(mark.raw)

    def _touches_letter(self, i: int, step: int) -> bool:
        """Return whether a WORD mark has a letter, or another WORD mark, directly before or after it."""
        kind, at = neighbour_kind(self.block.marks, i, step), self.block.marks[i].at
        if kind is not None:
            return kind is TokenKind.WORD
        return (self.block.text[at - 1 : at] if step < 0 else self.block.text[at : at + 1]).isalnum()

    def _is_harmless(self, i: int, at: int) -> bool:
        """Return whether white space next to a tag is next to other white space in the translation too."""
        marks, text = self.block.marks, self.translated
        if any(neighbour_kind(marks, i, step) is TokenKind.WORD for step in (-1, 1)):
            return False  # the WORD mark handles the space
        return text[max(0, at - 1) : at + 1].strip() != text[max(0, at - 1) : at + 1]

    def _write_rest_of_reference(self, span: Span) -> int:
        """Write the second character of a two-character reference if the span begins with it."""
        at = span.start
        while at < span.end and self._is_second_of_reference(at):
            self.written.append(escape(self.block.text[at], self.language))
            at += 1
        return at

    def _is_second_of_reference(self, at: int) -> bool:
        """Return whether a character is written together with the one before it."""
        return self.block.raws[at] == "" and not self.block.text[at].isspace()

    def _unsafe_start(self, span: Span) -> int:
        """Return where the last characters begin that may change their meaning before other text.

        These are a `<` or `&` that is not markup, a reference without its semicolon, and `]`, as in `]]>`.
        """
        raws, (start, end) = self.block.raws, span
        at = self._last_reference_start(span)
        while start < at < end and raws[at - 1][-1:] == "<":  # its character would make the sign a tag
            at -= 1
        return at

    def _last_reference_start(self, span: Span) -> int:
        """Return where a last `<` or `]`, or a last reference without its semicolon, begins."""
        raws, (start, end) = self.block.raws, span
        if start < end and self._is_second_of_reference(end):
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
    """Return the source form of characters; CDATA sections with a missing part are written as plain text."""
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
