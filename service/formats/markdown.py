"""Markdown: CommonMark with tables and strikethrough, front matter, footnotes, and marks of its dialects.

Running text is translated: paragraphs, headings, list items, table cells, and HTML blocks. Code, images,
front matter, and targets and definitions of links stay. A changed paragraph is written on one line;
everything that is not an entry stays byte for byte. If `*` or `_` next to new words would not be read as
emphasis, it moves past punctuation or a word, or the other delimiter is used.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from typing import IO

from markdown_it.token import Token

from service.formats.html import parse_html_parts
from service.formats.inline_runs import TextRun, entries_in, fill_runs, text_runs
from service.formats.markdown_parser import (
    BlockPosition,
    MarkdownParser,
    locate_cell,
    locate_lines,
    shape_of,
    without_containers,
)
from service.formats.parts import TextFormat, TextPart, TextUnit, Unit, decode, encode, joined
from service.formats.review_marks import TargetText
from service.text.tokens import InlineItem, TokenKind

DELIMITERS = {"em": "*", "strong": "**", "s": "~~"}
"""Delimiters by meaning; unlike `_`, `*` may stand within a word."""

_ALTERNATIVE_DELIMITERS = (DELIMITERS, DELIMITERS | {"em": "_"}, DELIMITERS | {"strong": "__"})


def name_of(item: InlineItem) -> str:
    """Return the meaning of an emphasis element; an empty string for anything else."""
    name = (item.note or "").removeprefix("/")
    return name if item.kind in {TokenKind.OPEN, TokenKind.CLOSE} and name in DELIMITERS else ""


def spellings(items: Sequence[InlineItem]) -> list[list[InlineItem]]:
    """Return ways to write emphasised text: as close to the original as possible first, plain text last.

    Args:
        items: elements have no white space at their edges, and no emphasis element is empty.
    """
    moved = _move_delimiters(items)
    others = [
        [replace(item, raw=marks[name_of(item)]) if name_of(item) else item for item in moved]
        for marks in _ALTERNATIVE_DELIMITERS
    ]
    return [list(items), moved, *others, [item for item in items if not name_of(item)]]


def _move_delimiters(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Move delimiters between a letter and punctuation past the punctuation, else past the letters."""
    moved = list(items)
    for step in (1, -1):
        kind = TokenKind.OPEN if step > 0 else TokenKind.CLOSE
        i = 0 if step > 0 else len(moved) - 1
        while 0 <= i < len(moved):
            if moved[i].kind is kind and name_of(moved[i]):
                i = _move_delimiter(moved, i, step)
            i += step
    return list(_merge_texts(moved))


def _merge_texts(items: Sequence[InlineItem]) -> Iterator[InlineItem]:
    for is_text, group in groupby(items, key=lambda item: item.kind is TokenKind.TEXT):
        if is_text:
            yield InlineItem(TokenKind.TEXT, "".join(item.text for item in group))
        else:
            yield from group


def _move_delimiter(items: list[InlineItem], i: int, step: int) -> int:
    """Move a delimiter if necessary; return where it is then, or the last item that was inspected.

    Args:
        items: changed in place.
        i: position of the delimiter.
        step: direction of the emphasised text: 1 for after the delimiter, -1 for before it.
    """
    outside, inside = _text(items, i - step), _text(items, i + step)
    if not _is_letter(_edge(outside, -step)) or _is_letter(_edge(inside, step)):
        return i
    num_signs = next((n for n, one in enumerate(inside[::step]) if _is_letter(one)), None)
    if num_signs is not None:
        over, kept = _split_off(inside, num_signs, step)
        items[i + step] = replace(items[i + step], text=kept)
        items.insert(i + (step < 0), InlineItem(TokenKind.TEXT, over))
        return i + (step > 0)
    num_letters = next((n for n, one in enumerate(outside[::-step]) if not _is_letter(one)), len(outside))
    over, kept = _split_off(outside, num_letters, -step)
    items[i - step] = replace(items[i - step], text=kept)
    items.insert(i + (step > 0), InlineItem(TokenKind.TEXT, over))
    return i + (step < 0)


def _text(items: Sequence[InlineItem], i: int) -> str:
    return items[i].text if 0 <= i < len(items) and items[i].kind is TokenKind.TEXT else ""


def _edge(text: str, step: int) -> str:
    """Return the first character (1) or the last (-1)."""
    return text[:1] if step > 0 else text[-1:]


def _split_off(text: str, num: int, step: int) -> tuple[str, str]:
    """Split off characters at the beginning (1) or the end (-1); return them and the rest."""
    return (text[:num], text[num:]) if step > 0 else (text[len(text) - num :], text[: len(text) - num])


def _is_letter(character: str) -> bool:
    """Return whether CommonMark's rules for delimiters count a character as neither space nor punctuation."""
    return bool(character) and not character.isspace() and unicodedata.category(character)[0] not in "PS"


_SPECIAL = re.compile(
    r"""
      [\\`\[\]]
    | (?<!\s)\* | \*(?!\s)
    | (?<![^\W_])_ | _(?![^\W_])                   # within a word it is none
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w+;)
    | ~(?=~) | (?<=~)~
    | !\Z                                          # before a link
    | (?<!\#)\#++\Z                                # at the end of a heading
    | \{(?=[{%\#.:])
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"\A(\s*+)(?:([#>+\-=~:|]|!(?=!!)|\?(?=\?\?))|(\d{1,9})([.)])(?=\s|\Z))")
"""Beginnings of a block at the beginning of a line."""
_PIPE = re.compile(r"(?<!\\)\|")


def write_inline(
    parser: MarkdownParser,
    found: Sequence[TextRun | InlineItem],
    texts: Sequence[TargetText],
    *,
    is_cell: bool,
    begins_line: bool,
) -> str:
    """Return the text of a block with translations.

    Args:
        parser: parses the output again, to check that marks still have their meaning.
        found: content of the block.
        texts: one for each text of the block.
        is_cell: whether the block is a table cell, which a `|` would end.
        begins_line: whether its beginning could begin another block; false for headings and cells.
    """
    text = ""
    for spelling in spellings(_tidy_emphasis(fill_runs(found, texts))):
        text = _write_items(spelling, begins_line=begins_line)
        alone = [replace(item, raw=without_containers(item.raw)) for item in spelling]
        if parser.shape(_write_items(alone, begins_line=begins_line)) == shape_of(spelling):
            break
    return _PIPE.sub(r"\\|", text) if is_cell else text


def _write_items(items: Sequence[InlineItem], *, begins_line: bool) -> str:
    written: list[str] = []
    is_line_begun = begins_line
    for item in items:
        if item.kind is TokenKind.TEXT:
            text = _SPECIAL.sub(r"\\\g<0>", " ".join(re.split(r"[\t\n\r ]+", item.text)))
            written.append(
                _BLOCK.sub(_escape_block_marker, text, count=1)
                if is_line_begun and _BLOCK.match(text)
                else text
            )
        else:
            written.append(item.raw)
        is_line_begun = item.ends_line or (
            is_line_begun and item.kind is TokenKind.TEXT and not item.text.strip()
        )
    return "".join(written)


def _escape_block_marker(found: re.Match[str]) -> str:
    if found[2]:
        return f"{found[1]}\\{found[2]}"
    return f"{found[1]}{found[3]}\\{found[4]}"


def _tidy_emphasis(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Move white space at the edges of elements outside: delimiters must touch words. Drop empty emphasis."""
    tidied: list[InlineItem] = []
    for item in items:
        last = tidied[-1] if tidied else InlineItem(TokenKind.BREAK)
        is_first = last.kind is TokenKind.OPEN
        is_last = item.kind is TokenKind.CLOSE
        if is_first and item.kind is TokenKind.TEXT and item.text[:1].isspace():
            text = item.text.lstrip()
            tidied[-1:] = [InlineItem(TokenKind.TEXT, " "), last]
            if text:
                tidied.append(replace(item, text=text))
        elif is_first and is_last and name_of(item):
            tidied.pop()
        elif is_last and last.kind is TokenKind.TEXT and last.text[-1:].isspace():
            text = last.text.rstrip()
            tidied[-1:] = [replace(last, text=text)] if text else []
            tidied += [item, InlineItem(TokenKind.TEXT, " ")]
        else:
            tidied.append(item)
    return tidied


_BYTE_ORDER_MARK = "\ufeff"
_FRONT_MATTER = re.compile(
    r"\A(---|\+\+\+)[ \t]*\r?\n(?:.*?\r?\n)?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class MarkdownFormat(TextFormat):
    """A Markdown document; an entry is a paragraph, a heading, a table cell, or a block of text in HTML."""

    def parse(self, source: IO[bytes]) -> tuple[Iterator[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        return _parts(decode(source.read(), "utf-8")), partial(encode, encoding="utf-8")


def _parts(text: str) -> Iterator[TextPart]:
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

    def parts(self) -> Iterator[TextPart]:
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
            location = locate_cell(token.content, self._lines, line, after)
            self._cell_end = line, location.column(len(token.content))
        else:
            location = locate_lines(token.content, self._lines, line, token.meta.get("num_marks", 0))
        start, stop = self._at(location, 0), self._at(location, len(token.content))
        return self._inline_unit(token, location, start, stop, is_cell=is_cell)

    def _at(self, location: BlockPosition, position: int) -> int:
        line, column = location.at(position)
        return self._starts[line] + column

    def _inline_unit(
        self, token: Token, location: BlockPosition, start: int, stop: int, *, is_cell: bool
    ) -> tuple[int, int, TextUnit] | None:
        parser = self._parser
        items = parser.items(
            token, lambda first, last: self._text[self._at(location, first) : self._at(location, last)]
        )
        found = list(text_runs(items, f"line {self._first_line + location.line}"))
        entries = entries_in(found)
        if not entries:
            return None

        def render(texts: Sequence[TargetText]) -> str:
            begins_line = not is_cell and not token.meta.get("num_marks", 0)
            return write_inline(parser, found, texts, is_cell=is_cell, begins_line=begins_line)

        return start, stop, Unit(entries, render, self._text[start:stop])
