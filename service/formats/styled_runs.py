"""Runs of text with formatting, as word processors, presentations and spreadsheets store them.

Applications split a text into many runs. Here, texts of one format become one text, and texts whose format
differs from that of most text around them become elements. Formats are compared in their source form.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from service.text.escaping import escape_xml
from service.text.tokens import InlineItem, TokenKind

_COLUMN_GAP = re.compile("( {3,})")


def text_items(text: str, style: str, written: Callable[[str], str]) -> Iterator[InlineItem]:
    """Yield text with a style; three spaces or more part texts, as a function writes them."""
    for i, part in enumerate(_COLUMN_GAP.split(text)):
        if i % 2:
            yield InlineItem(TokenKind.BREAK, raw=written(part))
        elif part:
            yield InlineItem(TokenKind.TEXT, part, note=style)


def written_text(prefix: str, text: str) -> str:
    """Return the element of a text in Word and Excel, which keeps its spaces."""
    return f'<{prefix}t xml:space="preserve">{escape_xml(text)}</{prefix}t>'


def wrap_styles(items: Sequence[InlineItem], shows_space: Callable[[str], object]) -> list[InlineItem]:
    """Turn differences of format into elements.

    Args:
        items: the note of a TEXT is its format; the notes of other items must not begin with `+` or be `-`.
        shows_space: whether a format is visible on white space.

    Returns:
        Items of which no TEXT has a note. The note `+FORMAT` of another item sets the format of the texts up
        to the matching `-`; `styled_items` reads it.
    """
    return list(_wrap_styled_texts(_note_base_styles(_merge_texts(items, shows_space))))


def styled_items(items: Sequence[InlineItem]) -> Iterator[tuple[InlineItem, str]]:
    """Yield each item with the format of its text."""
    styles = [""]
    for item in items:
        if item.kind is TokenKind.TEXT:
            yield item, styles[-1] if item.note is None else item.note
            continue
        yield item, styles[-1]
        if item.note is not None and item.note.startswith("+"):
            styles.append(item.note[1:])
        elif item.note == "-":
            styles.pop()


def _merge_texts(items: Sequence[InlineItem], shows_space: Callable[[str], object]) -> list[InlineItem]:
    """Merge consecutive texts of one format; white space in an invisible format joins the text before it."""
    merged: list[tuple[InlineItem, list[str]]] = []
    for item in items:
        last = merged[-1][0] if merged else None
        is_more = (
            item.kind is TokenKind.TEXT
            and last is not None
            and last.kind is TokenKind.TEXT
            and (last.note == item.note or (item.text.isspace() and not shows_space(item.note or "")))
        )
        if is_more:
            merged[-1][1].append(item.text)
        else:
            merged.append((item, [item.text]))
    return [item if len(texts) == 1 else replace(item, text="".join(texts)) for item, texts in merged]


def _note_base_styles(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Note on each opened element the properties of most direct text; for the paragraph, on a first BREAK."""
    levels = [Counter[str]()]
    starts = [-1]
    bases: dict[int, str] = {}
    for i, item in enumerate([*items, InlineItem(TokenKind.CLOSE)]):
        if item.kind is TokenKind.OPEN:
            levels.append(Counter())
            starts.append(i)
        elif item.kind is TokenKind.CLOSE:
            counts = levels.pop()
            bases[starts.pop()] = max(counts, key=counts.__getitem__, default="")
        elif item.kind is TokenKind.TEXT:
            levels[-1][item.note or ""] += len(item.text)
    noted = [replace(item, note=f"+{bases[i]}") if i in bases else item for i, item in enumerate(items)]
    noted = [replace(item, note="-") if item.kind is TokenKind.CLOSE else item for item in noted]
    return [InlineItem(TokenKind.BREAK, note=f"+{bases[-1]}"), *noted]


def _wrap_styled_texts(items: Sequence[InlineItem]) -> Iterator[InlineItem]:
    """Wrap texts whose properties differ from those of their level in elements of their own."""
    bases = [""]
    style: str | None = None
    for item in items:
        if item.kind is TokenKind.TEXT:
            wanted = None if item.note == bases[-1] else item.note
            if wanted != style:
                if style is not None:
                    yield InlineItem(TokenKind.CLOSE, note="-")
                if wanted is not None:
                    yield InlineItem(TokenKind.OPEN, note=f"+{wanted}")
                style = wanted
            yield replace(item, note=None)
            continue
        if style is not None and item.kind is not TokenKind.POINT:
            yield InlineItem(TokenKind.CLOSE, note="-")
            style = None
        if item.note is not None and item.note.startswith("+"):
            bases.append(item.note[1:])
        elif item.note == "-":
            bases.pop()
        yield item
    if style is not None:
        yield InlineItem(TokenKind.CLOSE, note="-")
