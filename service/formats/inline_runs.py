"""Running text with inline elements, as entries of a file, and back.

The same words in different formats give the same entry; see `MarkedText`.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from service.formats.entries import Entry, FileFormatError, TargetText, entry_of
from service.formats.parts import TextPart, TextUnit, Unit
from service.text.escaping import escape, escape_xml
from service.text.icu_parser import has_branches
from service.text.marked_text import MarkedText, pair_nesting
from service.text.options import MarkupLanguage
from service.text.reading import ReadText, read_items, translated_items
from service.text.tokens import InlineItem, TokenKind, join_empty_elements

_SPACES = re.compile(r"[\t\n\f\r ]+")


@dataclass(frozen=True, slots=True, eq=False)
class TextRun:
    """Text that is translated as one entry, with the items around it."""

    read: ReadText
    entry: Entry
    keeps_blanks: bool = False
    """Whether white space on both sides of a mark stays on both."""

    def with_text(self, text: TargetText) -> list[InlineItem]:
        """Return all items, with a translation of the entry.

        Raises:
            FileFormatError: the inline elements of the translation are not those of the entry.
        """
        read = self.read
        if text.text == self.entry.text:
            return translated_items(read, read.marked)
        if not text.text:
            return [*read.before, *read.items, *read.after]
        translated = text.marked
        numbers = [mark.number for mark in translated.marks]
        numbers += (each.number for each in translated.objects if each.number is not None)
        is_whole = sorted(numbers) == list(range(len(read.items)))
        # In an ICU message, an element occurs in each branch made of its own.
        if not is_whole and not (has_branches(text.text) and set(numbers) <= set(range(len(read.items)))):
            raise FileFormatError(
                f"{self.entry.location}: the translation changed inline elements; each must occur once, "
                "well nested"
            )
        return translated_items(self._with_blanks(translated) if self.keeps_blanks else read, translated)

    def _with_blanks(self, translated: MarkedText) -> ReadText:
        """Return the text; marks that white space precedes include the white space after them."""
        items = list(self.read.items)
        for mark in translated.marks:
            if translated.text[mark.at - 1 : mark.at].isspace():
                item, blank = items[mark.number], self.read.blanks[mark.number]
                items[mark.number] = replace(item, raw=item.raw + blank)
        return replace(self.read, items=tuple(items))


def text_runs(
    items: Sequence[InlineItem], location: str, *, keeps_space: bool = False, keeps_blanks: bool = False
) -> Iterator[TextRun | InlineItem]:
    """Yield texts between breaks as entries if they hold something to translate, and all other items.

    Args:
        items: an OPEN and its CLOSE may be on two sides of a break.
        location: that of the entries.
        keeps_space: whether white space is significant; otherwise each run of it counts as one space.
        keeps_blanks: see `TextRun`.
    """
    for found in read_items(items, keeps_space=keeps_space):
        if isinstance(found, InlineItem):
            yield found
        else:
            yield TextRun(found, entry_of(found.marked, location), keeps_blanks)


def entries_in(found: Iterable[TextRun | InlineItem]) -> tuple[Entry, ...]:
    """Return the entries of the runs among these."""
    return tuple(running.entry for running in found if isinstance(running, TextRun))


def messages_in(found: Iterable[TextRun | InlineItem]) -> tuple[Entry, ...]:
    """Return the same as texts of a user interface."""
    return tuple(replace(entry, is_message=True) for entry in entries_in(found))


def fill_runs(found: Iterable[TextRun | InlineItem], texts: Iterable[TargetText]) -> list[InlineItem]:
    """Return all items, with translations of the entries in place of these.

    Raises:
        FileFormatError: see `TextRun.with_text`.
    """
    given = iter(texts)
    filled: list[InlineItem] = []
    for running in found:
        filled += [running] if isinstance(running, InlineItem) else running.with_text(next(given))
    return filled


def enclosed(opening: str, inner: Iterable[InlineItem], closing: str) -> Iterator[InlineItem]:
    """Yield items between the two halves of an element."""
    yield InlineItem(TokenKind.OPEN, raw=opening)
    yield from inner
    yield InlineItem(TokenKind.CLOSE, raw=closing)


def xml_of(items: Iterable[InlineItem]) -> str:
    """Return items as XML."""
    return "".join(escape_xml(item.text) if item.kind is TokenKind.TEXT else item.raw for item in items)


def collapse_space(text: str) -> str:
    """Return a text with each run of white space replaced by one space."""
    return _SPACES.sub(" ", text)


def pair_halves(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Turn pairs of halves, noted `open:KEY` and `close:KEY`, into elements where they nest."""
    halves: list[tuple[str, Hashable]] = []
    elements = [-1]
    """Positions of the elements around an item: halves in different ones are no pair."""
    for i, item in enumerate(items):
        half, _, key = (item.note or "").partition(":")
        if item.kind is TokenKind.OPEN:
            halves.append((item.kind, i))
            elements.append(i)
        elif item.kind is TokenKind.CLOSE and len(elements) > 1:
            halves.append((item.kind, elements.pop()))
        else:
            halves.append((half, (elements[-1], key)))
    result = list(items)
    for i, partner in pair_nesting(halves).items():
        if items[i].note is not None and items[i].kind not in {TokenKind.OPEN, TokenKind.CLOSE}:
            result[i] = replace(items[i], kind=TokenKind.OPEN if i < partner else TokenKind.CLOSE, note=None)
    return join_empty_elements(result, TokenKind.POINT)


def without_cut_elements(items: Iterable[InlineItem]) -> list[InlineItem]:
    """Return items in which the tags of an element with a break in it are breaks, too."""
    found = list[InlineItem]()
    opened = list[int]()
    num_cut = 0
    """Elements of `opened`, from the outermost, that have a break in them."""
    for item in items:
        is_cut = False
        if item.kind is TokenKind.OPEN:
            opened.append(len(found))
        elif item.kind is TokenKind.CLOSE and opened:
            is_cut = len(opened) <= num_cut
            opened.pop()
            num_cut = min(num_cut, len(opened))
        elif item.kind is TokenKind.BREAK and not item.ends_line:
            for i in opened[num_cut:]:
                found[i] = replace(found[i], kind=TokenKind.BREAK)
            num_cut = len(opened)
        found.append(replace(item, kind=TokenKind.BREAK) if is_cut else item)
    return found


def token_blocks(tokens: Sequence[InlineItem], language: MarkupLanguage, location: str) -> list[TextPart]:
    """Return the blocks of a document, and the markup between them.

    Args:
        tokens: tokens of the document.
        language: markup language of the document, in which translations are escaped.
        location: prefix of the blocks' locations.
    """
    numbers = count(1)
    return [
        found.raw
        if isinstance(found, InlineItem)
        else _block_unit(found, language, f"{location}block {next(numbers)}")
        for found in read_items(tokens, parts_touching=True)
    ]


def _block_unit(read: ReadText, language: MarkupLanguage, location: str) -> TextUnit:
    running = TextRun(read, entry_of(read.marked, location), keeps_blanks=True)
    items = [*read.before, *read.core, *read.after]
    keeps_space = any(item.keeps_space and not item.is_section for item in items)

    def written(item: InlineItem) -> str:
        if item.kind is not TokenKind.TEXT or item.raw:
            return item.raw
        # An empty line ends HTML in Markdown.
        return escape(item.text if keeps_space else collapse_space(item.text), language)

    def render(texts: Sequence[TargetText]) -> str:
        return "".join(map(written, running.with_text(texts[0])))

    return Unit((running.entry,), render, "".join(item.raw for item in items))
