"""Text written as Markdown that says just that (CommonMark 0.31.2, 2.4 Backslash escapes)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from service.formats.inline_runs import Item, Kind, Running
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
"""What begins a block at the beginning of a line."""
_PIPE = re.compile(r"(?<!\\)\|")


def spell_inline(
    parser: MarkdownParser,
    found: Sequence[Running | Item],
    texts: Sequence[str],
    *,
    is_cell: bool,
    begins_line: bool,
) -> str:
    """A block's text with translations in it.

    Args:
        parser: reads what was written again, to see whether marks still mean what they did.
        found: what is in the block.
        texts: one for each text of it.
        is_cell: whether it is a cell of a table, which a `|` would end.
        begins_line: whether it would be another block if it began as that does; a heading and a cell are not.
    """
    items: list[Item] = []
    given = iter(texts)
    for running in found:
        items += [running] if isinstance(running, Item) else running.with_text(next(given))
    text = ""
    for spelling in spellings(_tidied(items)):
        text = _spelt(spelling, begins_line=begins_line)
        if parser.shape(text) == shape_of(spelling):
            break
    return _PIPE.sub(r"\\|", text) if is_cell else text


def _spelt(items: Sequence[Item], *, begins_line: bool) -> str:
    written: list[str] = []
    is_line_begun = begins_line
    for item in items:
        if item.kind is Kind.TEXT:
            text = _SPECIAL.sub(r"\\\g<0>", " ".join(re.split(r"[\t\n\r ]+", item.text)))
            written.append(
                _BLOCK.sub(_escaped, text, count=1) if is_line_begun and _BLOCK.match(text) else text
            )
        else:
            written.append(item.raw)
        is_line_begun = item.ends_line or (is_line_begun and item.kind is Kind.TEXT and not item.text.strip())
    return "".join(written)


def _escaped(found: re.Match[str]) -> str:
    if found[2]:
        return f"{found[1]}\\{found[2]}"
    return f"{found[1]}{found[3]}\\{found[4]}"


def _tidied(items: Sequence[Item]) -> list[Item]:
    """White space at the edges of elements goes outside, as marks need words beside them; empty ones go."""
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
