"""Text written as Markdown that means exactly that text (CommonMark 0.31.2, 2.4 Backslash escapes)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from service.formats.inline_runs import Item, Kind, TextRun
from service.formats.markdown_emphasis import name_of, spellings
from service.formats.markdown_parser import MarkdownParser, shape_of

_SPECIAL = re.compile(
    r"""
      [\\`\[\]]
    | (?<!\s)\* | \*(?!\s)
    | (?<![^\W_])_ | _(?![^\W_])                   # within a word it is none
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w+;)
    | ~(?=~) | (?<=~)~
    | !\Z                                          # before a link
    | \#+\Z                                        # at the end of a heading
    | \{(?=[{%])
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"(\s*)(?:([#>+\-=~:|])|(\d{1,9})([.)])(?=\s|\Z))")
"""Beginnings of a block at the beginning of a line."""
_PIPE = re.compile(r"(?<!\\)\|")


def write_inline(
    parser: MarkdownParser,
    found: Sequence[TextRun | Item],
    texts: Sequence[str],
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
    items: list[Item] = []
    given = iter(texts)
    for running in found:
        items += [running] if isinstance(running, Item) else running.with_text(next(given))
    text = ""
    for spelling in spellings(_tidy_emphasis(items)):
        text = _write_items(spelling, begins_line=begins_line)
        if parser.shape(text) == shape_of(spelling):
            break
    return _PIPE.sub(r"\\|", text) if is_cell else text


def _write_items(items: Sequence[Item], *, begins_line: bool) -> str:
    written: list[str] = []
    is_line_begun = begins_line
    for item in items:
        if item.kind is Kind.TEXT:
            text = _SPECIAL.sub(r"\\\g<0>", " ".join(re.split(r"[\t\n\r ]+", item.text)))
            written.append(
                _BLOCK.sub(_escape_block_marker, text, count=1)
                if is_line_begun and _BLOCK.match(text)
                else text
            )
        else:
            written.append(item.raw)
        is_line_begun = item.ends_line or (is_line_begun and item.kind is Kind.TEXT and not item.text.strip())
    return "".join(written)


def _escape_block_marker(found: re.Match[str]) -> str:
    if found[2]:
        return f"{found[1]}\\{found[2]}"
    return f"{found[1]}{found[3]}\\{found[4]}"


def _tidy_emphasis(items: Sequence[Item]) -> list[Item]:
    """Move white space at the edges of elements outside: delimiters must touch words. Drop empty emphasis."""
    tidied: list[Item] = []
    for item in items:
        last = tidied[-1] if tidied else None
        if item.kind is Kind.TEXT and last is not None and last.kind is Kind.OPEN and item.text[:1].isspace():
            text = item.text.lstrip()
            tidied[-1:] = [Item(Kind.TEXT, " "), last]
            if text:
                tidied.append(replace(item, text=text))
        elif item.kind is Kind.CLOSE and last is not None and last.kind is Kind.OPEN and name_of(item):
            tidied.pop()
        elif (
            item.kind is Kind.CLOSE
            and last is not None
            and last.kind is Kind.TEXT
            and last.text[-1:].isspace()
        ):
            text = last.text.rstrip()
            tidied[-1:] = [replace(last, text=text)] if text else []
            tidied += [item, Item(Kind.TEXT, " ")]
        else:
            tidied.append(item)
    return tidied
