"""Running text with inline elements, converted to XML and back.

Formatting, links, footnotes and placeholders of a file become elements without a meaning in its entries:
`<g i="0">` around words, `<x i="1"/>` in place of a word, `<?p 2?>` between characters, `<br i="3"/>` between
lines, which are translated separately.
The same words in different formats thus give the same entry. Text without inline elements is a plain entry.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from service.formats.entries import Entry, FileFormatError
from service.formats.parts import TextPart, TextUnit, Unit
from service.markup.escaping import escape, escape_xml, read_xml
from service.markup.options import MarkupLanguage, MarkupOptions
from service.markup.tokens import MarkupToken, TokenKind

RUN_MARKUP = MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset(["t", "br"]), finds_outline=False)
"""Markup of entries that are not plain text."""

_SPACE_WRAPPER = '<t xml:space="preserve">', "</t>"
_MARK = re.compile(r'<g i="(\d+)">|(</g>)|<(?:x|br) i="(\d+)"/>|<\?p (\d+)\?>')
_SPACES = re.compile(r"[\t\n\f\r ]+")
_UNWRITABLE = re.compile("([^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff])")
"""Characters that XML cannot represent."""


@dataclass(frozen=True, slots=True)
class InlineItem:
    """A text, or an inline element between texts."""

    kind: TokenKind
    """TEXT; OPEN and CLOSE, properly nested; WORD or POINT. BREAK separates texts."""
    text: str = ""
    """Content of TEXT. Other kinds may keep the text in their element here."""
    raw: str = ""
    """Source form of all kinds but TEXT."""
    note: str | None = None
    """Data of the file format, or `open:KEY` and `close:KEY` for `pair_halves`."""
    ends_line: bool = False
    """For WORD: whether a new line begins after it, so that the texts before and after it are separate."""
    is_half: bool = False
    """For POINT: whether it is one half of an element whose other half is beyond a break."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRun:
    """Text that is translated as one entry, with the items around it."""

    before: tuple[InlineItem, ...]
    core: tuple[InlineItem, ...]
    after: tuple[InlineItem, ...]
    entry: Entry
    keeps_space: bool

    def with_text(self, text: str) -> list[InlineItem]:
        """Return all items, with a translation of the entry.

        Raises:
            FileFormatError: the inline elements of the translation are not those of the entry.
        """
        if text == self.entry.text:
            core = list(self.core)
        elif not text:
            core = _marks(self.core)
        elif self.entry.markup is None:
            core = [InlineItem(TokenKind.TEXT, text)]
        else:
            core = self._restore_items(text)
        return [*self.before, *core, *self.after]

    def _restore_items(self, text: str) -> list[InlineItem]:
        inner = text
        if self.keeps_space:
            inner = text.removeprefix(_SPACE_WRAPPER[0]).removesuffix(_SPACE_WRAPPER[1])
        marks = _marks(self.core)
        items: list[InlineItem] = []
        open_numbers: list[int] = []
        partners = _partners(marks)
        at = 0
        for found in _MARK.finditer(inner):
            items += _text_items(inner[at : found.start()])
            at = found.end()
            if found[2]:
                if not open_numbers:
                    raise self._mismatch_error()
                items.append(marks[partners[open_numbers.pop()]])
                continue
            number = int(found[1] or found[3] or found[4])
            if number >= len(marks):
                raise self._mismatch_error()
            if found[1]:
                open_numbers.append(number)
            items.append(marks[number])
        items += _text_items(inner[at:])
        if open_numbers or sorted(map(id, _marks(items))) != sorted(map(id, marks)):
            raise self._mismatch_error()
        halves = (mark for mark in marks if mark.is_half)  # another order would make elements cross
        return [next(halves) if item.is_half else item for item in items]

    def _mismatch_error(self) -> FileFormatError:
        return FileFormatError(
            f"{self.entry.place}: the translation changed inline elements; each must occur once, well nested"
        )


def text_runs(
    items: Sequence[InlineItem], place: str, *, keeps_space: bool = False
) -> Iterator[TextRun | InlineItem]:
    """Yield texts between breaks as entries if they hold something to translate, and all other items.

    Args:
        items: an OPEN and its CLOSE may be on two sides of a break.
        place: location of the entries.
        keeps_space: whether white space is significant; otherwise each run of it counts as one space.
    """
    start = 0
    for end in [*(i for i, item in enumerate(items) if item.kind is TokenKind.BREAK), len(items)]:
        stretch = [] if start == end else list(_replace_unwritable(_balance(items[start:end])))
        if any(item.text.strip() for item in stretch if item.kind is TokenKind.TEXT):
            yield _text_run(stretch, place, keeps_space=keeps_space)
        else:
            yield from items[start:end]
        yield from items[end : end + 1]
        start = end + 1


def entries_in(found: Iterable[TextRun | InlineItem]) -> tuple[Entry, ...]:
    """Return the entries of the runs among these."""
    return tuple(running.entry for running in found if isinstance(running, TextRun))


def messages_in(found: Iterable[TextRun | InlineItem]) -> tuple[Entry, ...]:
    """Return the same as texts of a user interface."""
    return tuple(replace(entry, is_message=True) for entry in entries_in(found))


def fill_runs(found: Iterable[TextRun | InlineItem], texts: Iterable[str]) -> list[InlineItem]:
    """Return all items, with translations of the entries in place of these.

    Raises:
        FileFormatError: see `TextRun.with_text`.
    """
    given = iter(texts)
    filled: list[InlineItem] = []
    for running in found:
        filled += [running] if isinstance(running, InlineItem) else running.with_text(next(given))
    return filled


def collapse_space(text: str) -> str:
    """Return a text with each run of white space replaced by one space."""
    return _SPACES.sub(" ", text)


def _text_run(items: list[InlineItem], place: str, *, keeps_space: bool) -> TextRun:
    start, end = _core_range(items)
    first, last = items[start], items[end - 1]
    before, after = items[:start], items[end:]
    core = items[start:end]
    if first.kind is TokenKind.TEXT:
        stripped = first.text.lstrip()
        if stripped != first.text:
            before.append(InlineItem(TokenKind.TEXT, first.text[: len(first.text) - len(stripped)]))
            core[0] = first = replace(first, text=stripped)
            last = first if len(core) == 1 else last
    if last.kind is TokenKind.TEXT:
        stripped = last.text.rstrip()
        if stripped != last.text:
            after.insert(0, InlineItem(TokenKind.TEXT, last.text[len(stripped) :]))
            core[-1] = replace(last, text=stripped)
    entry = _entry(core, place, keeps_space=keeps_space)
    return TextRun(tuple(before), tuple(core), tuple(after), entry, keeps_space)


def _core_range(items: Sequence[InlineItem]) -> tuple[int, int]:
    """Return the range of items between the edges: white space, points, line breaks, enclosing elements."""
    partners = _partners(items)
    edges = [_is_edge(item) for item in items]
    start, end = 0, len(items)
    while True:
        if edges[start]:
            start += 1
        elif edges[end - 1]:
            end -= 1
        elif items[start].kind is TokenKind.OPEN and partners[start] == end - 1:
            start, end = start + 1, end - 1
        else:
            return start, end


def _is_edge(item: InlineItem) -> bool:
    if item.kind is TokenKind.TEXT:
        return not item.text.strip()
    return item.kind is TokenKind.POINT or item.ends_line


def _partners(items: Sequence[InlineItem]) -> dict[int, int]:
    partners: dict[int, int] = {}
    open_indices: list[int] = []
    for i, item in enumerate(items):
        if item.kind is TokenKind.OPEN:
            open_indices.append(i)
        elif item.kind is TokenKind.CLOSE and open_indices:
            partners[open_indices.pop()] = i
    return partners


def _balance(items: Sequence[InlineItem]) -> Iterator[InlineItem]:
    """Turn halves of elements whose other half is beyond a break into points."""
    partners = _partners(items)
    paired = partners.keys() | set(partners.values())
    for i, item in enumerate(items):
        is_half = item.kind in {TokenKind.OPEN, TokenKind.CLOSE} and i not in paired
        yield replace(item, kind=TokenKind.POINT, is_half=True) if is_half else item


def _replace_unwritable(items: Iterator[InlineItem]) -> Iterator[InlineItem]:
    """Turn characters that XML cannot represent into points."""
    for item in items:
        if item.kind is not TokenKind.TEXT or not _UNWRITABLE.search(item.text):
            yield item
            continue
        for i, part in enumerate(_UNWRITABLE.split(item.text)):
            if part:
                yield InlineItem(TokenKind.POINT, raw=part) if i % 2 else replace(item, text=part)


def _entry(core: Sequence[InlineItem], place: str, *, keeps_space: bool) -> Entry:
    if all(item.kind is TokenKind.TEXT for item in core):
        text = "".join(item.text for item in core)
        return Entry(text if keeps_space else collapse_space(text), place)
    written: list[str] = []
    number = 0
    for item in core:
        if item.kind is TokenKind.TEXT:
            written.append(escape_xml(item.text if keeps_space else collapse_space(item.text)))
            continue
        written.append((_LINE_BREAK if item.ends_line else _TAGS[item.kind]).format(number))
        number += 1
    text = "".join(written)
    return Entry(text.join(_SPACE_WRAPPER) if keeps_space else text, place, RUN_MARKUP)


_TAGS = {
    TokenKind.OPEN: '<g i="{}">',
    TokenKind.CLOSE: "</g>",
    TokenKind.WORD: '<x i="{}"/>',
    TokenKind.POINT: "<?p {}?>",
}
_LINE_BREAK = '<br i="{}"/>'


def _marks(items: Sequence[InlineItem]) -> list[InlineItem]:
    return [item for item in items if item.kind is not TokenKind.TEXT]


def _text_items(raw: str) -> list[InlineItem]:
    text = read_xml(raw).text
    return [InlineItem(TokenKind.TEXT, text)] if text else []


def pair_halves(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Turn pairs of halves, noted `open:KEY` and `close:KEY`, into elements where they nest."""
    result = list(items)
    levels = [_OpenHalves()]
    for i, item in enumerate(items):
        half, _, key = (item.note or "").partition(":")
        if item.kind is TokenKind.OPEN:
            levels.append(_OpenHalves())
        elif item.kind is TokenKind.CLOSE and len(levels) > 1:
            levels.pop()
        elif half == "open":
            levels[-1].add(key, i)
        elif half == "close" and (start := levels[-1].take(key)) is not None:
            result[start] = replace(items[start], kind=TokenKind.OPEN, note=None)
            result[i] = replace(item, kind=TokenKind.CLOSE, note=None)
    return _replace_empty_elements(result)


class _OpenHalves:
    """First halves directly in one element, whose second halves have not come yet."""

    def __init__(self) -> None:
        self._halves: list[tuple[str, int]] = []
        self._counts = Counter[str]()

    def add(self, key: str, i: int) -> None:
        self._halves.append((key, i))
        self._counts[key] += 1

    def take(self, key: str) -> int | None:
        """Return the position of a key's last half, if any; drop later ones, which would cross its pair."""
        if not self._counts[key]:
            return None
        while True:
            last, i = self._halves.pop()
            self._counts[last] -= 1
            if last == key:
                return i


def _replace_empty_elements(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Turn empty elements into points."""
    kept: list[InlineItem] = []
    for item in items:
        if item.kind is TokenKind.CLOSE and kept and kept[-1].kind is TokenKind.OPEN:
            kept[-1] = InlineItem(TokenKind.POINT, raw=kept[-1].raw + item.raw)
        else:
            kept.append(item)
    return kept


def token_blocks(tokens: Sequence[MarkupToken], language: MarkupLanguage, place: str) -> list[TextPart]:
    """Return the blocks of a document, and the markup between them.

    Args:
        tokens: tokens of the document.
        language: markup language of the document, in which translations are escaped.
        place: prefix of the blocks' locations.
    """
    parts: list[TextPart] = []
    numbers = count(1)
    start = 0
    breaks = (i for i, token in enumerate(tokens) if token.kind is TokenKind.BREAK and not token.ends_line)
    for stop in [*breaks, len(tokens)]:
        stretch = tokens[start:stop]
        if any(token.kind is TokenKind.TEXT and token.text.strip() for token in stretch):
            parts.append(_block_unit(stretch, language, f"{place}block {next(numbers)}"))
        else:
            parts += [token.raw for token in stretch]
        parts += [token.raw for token in tokens[stop : stop + 1]]
        start = stop + 1
    return parts


def _block_unit(tokens: Sequence[MarkupToken], language: MarkupLanguage, place: str) -> TextUnit:
    items = [
        InlineItem(
            TokenKind.WORD if token.ends_line else token.kind,
            token.text,
            token.raw,
            ends_line=token.ends_line,
        )
        for token in tokens
    ]
    keeps_space = any(token.keeps_space and not token.is_section for token in tokens)
    found = list(text_runs(items, place, keeps_space=keeps_space))

    def said(item: InlineItem) -> str:
        if item.kind is not TokenKind.TEXT:
            return item.raw
        # An empty line ends HTML in Markdown.
        return escape(item.text if keeps_space else collapse_space(item.text), language)

    def spell(texts: Sequence[str]) -> str:
        return "".join(map(said, fill_runs(found, texts)))

    return Unit(entries_in(found), spell, "".join(token.raw for token in tokens))
