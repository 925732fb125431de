"""Markdown: CommonMark with tables and strikethrough, front matter and footnotes.

Running text is translated: paragraphs, headings, list items, table cells, and HTML blocks. Code, images,
front matter, and targets and definitions of links stay. A changed paragraph is written on one line;
everything that is not an entry stays byte for byte. If `*` or `_` next to new words would not be read as
emphasis, it moves past punctuation or a word, or the other delimiter is used.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO

from markdown_it.token import Token

from service.formats.entries import Entry, FileOptions
from service.formats.html import parse_html_parts
from service.formats.inline_runs import TextRun, text_runs
from service.formats.markdown_lines import BlockPosition, locate_cell, locate_lines
from service.formats.markdown_parser import MarkdownParser
from service.formats.markdown_spelling import write_inline
from service.formats.text_units import TextUnit, decode, encode, end, entries_of, joined, written

_BYTE_ORDER_MARK = "\ufeff"
_FRONT_MATTER = re.compile(
    r"\A(---|\+\+\+)[ \t]*\r?\n(?:.*?\r?\n)?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class MarkdownFormat:
    """A Markdown document; an entry is a paragraph, a heading, a table cell, or a block of text in HTML."""

    def __init__(self, options: FileOptions) -> None:
        """Ignore the options: the format has none."""
        del options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(_parts(decode(source.read(), "utf-8")))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        text = "".join(written(_parts(decode(source.read(), "utf-8")), texts))
        end(texts)
        target.write(encode(text, "utf-8"))


def _parts(text: str) -> Iterator[str | TextUnit]:
    num_before = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    front = _FRONT_MATTER.match(text[num_before:])
    num_before += front.end() if front else 0
    yield text[:num_before]
    page = _Document(text[num_before:], 1 + len(_LINE.findall(text[:num_before])[:-1]))
    yield from page.parts()


class _Document:
    """A document without its front matter."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        lines = _LINE.findall(text)[:-1]  # the last match is empty
        self._starts = [0, *accumulate(map(len, lines))]
        self._lines = [line.rstrip("\r\n") for line in lines]
        self._parser = MarkdownParser()
        self._cell_end = 0, 0
        """Line and column where the last table cell ended."""

    def parts(self) -> Iterator[str | TextUnit]:
        at = 0
        for token in self._parser.parse("\n".join(self._lines) + "\n"):
            found = self._unit(token)
            if found is not None:
                start, stop, passage = found
                yield self._text[at:start]
                yield passage
                at = stop
        yield self._text[at:]

    def _unit(self, token: Token) -> tuple[int, int, TextUnit] | None:
        if token.map is None:
            return None
        if token.type == "html_block" and token.level == 0:
            return self._html(*token.map)
        return self._inline(token, token.map[0]) if token.type == "inline" and token.content else None

    def _html(self, first: int, last: int) -> tuple[int, int, TextUnit]:
        start, stop = self._starts[first], self._starts[last]
        parts = parse_html_parts(self._text[start:stop], f"line {self._first_line + first}, ")
        return start, stop, joined(parts)

    def _inline(self, token: Token, line: int) -> tuple[int, int, TextUnit] | None:
        is_cell = token.meta.get("is_cell", False)
        if is_cell:
            after = self._cell_end[1] if self._cell_end[0] == line else 0
            place = locate_cell(token.content, self._lines, line, after)
            self._cell_end = line, place.column(len(token.content))
        else:
            place = locate_lines(token.content, self._lines, line, token.meta.get("num_marks", 0))
        start, stop = self._at(place, 0), self._at(place, len(token.content))
        return self._inline_unit(token, place, start, stop, is_cell=is_cell)

    def _at(self, place: BlockPosition, position: int) -> int:
        line, column = place.at(position)
        return self._starts[line] + column

    def _inline_unit(
        self, token: Token, place: BlockPosition, start: int, stop: int, *, is_cell: bool
    ) -> tuple[int, int, TextUnit] | None:
        parser = self._parser
        items = parser.items(
            token, lambda first, last: self._text[self._at(place, first) : self._at(place, last)]
        )
        found = list(text_runs(items, f"line {self._first_line + place.line}"))
        entries = tuple(part.entry for part in found if isinstance(part, TextRun))
        if not entries:
            return None

        def spell(texts: Sequence[str]) -> str:
            begins_line = not is_cell and not token.meta.get("num_marks", 0)
            return write_inline(parser, found, texts, is_cell=is_cell, begins_line=begins_line)

        return start, stop, TextUnit(entries, spell, self._text[start:stop])
