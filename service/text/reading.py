"""Reads text with inline elements: running text as `MarkedText`, with all source forms for its writer."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from service.text.html_tokens import html_tokens
from service.text.marked_text import (
    OBJECT,
    Mark,
    MarkedText,
    MarkKind,
    Object,
    Shown,
    pair_nesting,
    with_partners,
)
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.tokens import InlineItem, TokenKind
from service.text.xml_tokens import xml_tokens

SPACES = "\t\n\f\r "
"""White space of HTML and XML, which does not include the no-break space."""

_RUN = re.compile(f"[{SPACES}]+|[^{SPACES}]+")
_LINK = re.compile(r"</?a[\s/>]", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s|/\\·•,;:>»<«–—-]*")  # noqa: RUF001 -- a dash
_WITHOUT_TEXT = re.compile(r"(?:<[^>]*+>|&lt;(?:(?!&gt;).)*+&gt;|\s++)++", re.DOTALL)
_MIN_LETTERS = 2


@dataclass(frozen=True, slots=True)
class CdataSection:
    """A CDATA section in a text."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True, slots=True, eq=False)
class ReadText:
    """A text with the source forms of its marks, objects and characters; it stays with its reader."""

    marked: MarkedText
    items: tuple[InlineItem, ...]
    """Each mark and object, by number."""
    blanks: tuple[str, ...]
    """Source form of white space that follows each of these and has no width, by number."""
    characters: Sequence[str]
    """Source form of each character; within CDATA sections, its form outside of one."""
    sections: tuple[CdataSection, ...]
    core: tuple[InlineItem, ...]
    """All items of the text."""
    before: tuple[InlineItem, ...]
    """Items at the beginning, which stay there: white space, points, elements around all of the text."""
    after: tuple[InlineItem, ...]


def read_markup(markup: str, options: MarkupOptions) -> list[ReadText | InlineItem]:
    """Return the running texts of markup, and the items between them, which stay as they are.

    Args:
        markup: a document or a fragment.
        options: markup language, and the meaning of tags.

    Raises:
        MarkupError: XML that is not well-formed, declares entities or is nested too deeply. HTML is read as
            browsers read it, however malformed.
    """
    is_html = options.language is MarkupLanguage.HTML
    items = html_tokens(markup, options) if is_html else xml_tokens(markup, options)
    return list(read_items(items, parts_touching=is_html))


def read_items(
    items: Sequence[InlineItem], *, keeps_space: bool = False, parts_touching: bool = False
) -> Iterator[ReadText | InlineItem]:
    """Yield the texts between breaks that hold something to translate, and all other items.

    Args:
        items: an OPEN and its CLOSE may be on two sides of a break.
        keeps_space: whether all white space is significant; otherwise each run of it counts as one space,
            except in items that keep it.
        parts_touching: whether elements without white space between may be texts of their own, as links in
            HTML.
    """
    start = 0
    breaks = [i for i, item in enumerate(items) if item.kind is TokenKind.BREAK and not item.ends_line]
    for end in [*breaks, len(items)]:
        stretch = items[start:end]
        if any(item.kind is TokenKind.TEXT and item.text.strip() for item in stretch):
            yield _read_text(stretch, keeps_space=keeps_space, parts_touching=parts_touching)
        else:
            yield from stretch
        yield from items[end : end + 1]
        start = end + 1


def _read_text(items: Sequence[InlineItem], *, keeps_space: bool, parts_touching: bool) -> ReadText:
    before, core, after = _without_edges(items)
    builder = _TextBuilder(keeps_space)
    for item in core:
        builder.add(item)
    text, marks = "".join(builder.text), with_partners(builder.marks)
    objects = builder.objects
    if parts_touching and marks:
        breaks = _touching_breaks(text, marks, [item.raw for item in builder.items])
        objects = sorted(
            [*objects, *(Object(at, at, Shown.BREAK) for at in breaks)],
            key=lambda each: (each.start, each.end),
        )
    return ReadText(
        MarkedText(text, marks, tuple(objects)),
        tuple(builder.items),
        tuple(builder.blanks),
        builder.characters,
        tuple(builder.sections),
        tuple(core),
        tuple(before),
        tuple(after),
    )


def _touching_breaks(text: str, marks: Sequence[Mark], raws: Sequence[str]) -> list[int]:
    """Return positions between touching elements at which a new text begins, in order.

    Links that touch are separate, and so are all links of a text of nothing else. Of other elements, the
    second begins a text if it begins with a capital letter and the first does not end with one, as the words
    `Name:` and `Hund` do in `<b>Name:</b>Hund`; `<b>Donau</b><i>dampfer</i>` is one word.

    Args:
        text: the text.
        marks: its marks, in order.
        raws: source form of each mark, by number.
    """
    if links := _links_only(text, marks, raws):
        return links
    return [
        at
        for at, group in groupby(marks, key=lambda mark: mark.at)
        if 0 < at < len(text) and _is_break(text, at, [(mark.kind, raws[mark.number]) for mark in group])
    ]


def _is_break(text: str, at: int, found: Sequence[tuple[MarkKind, str]]) -> bool:
    if text[at - 1].isspace() or text[at].isspace():
        return False
    before = text[max(0, at - _MIN_LETTERS - 1) : at]
    if before[-1] in ".:!?" and before[:-1].isalpha() and len(before) > _MIN_LETTERS and text[at].isalpha():
        return True
    kinds = [kind for kind, _ in found]
    if MarkKind.CLOSE not in kinds or MarkKind.OPEN not in kinds[kinds.index(MarkKind.CLOSE) :]:
        return False
    is_link = [_LINK.match(raw) is not None for _, raw in found]
    if sum(is_link) > 1:
        return True
    return text[at].isupper() and text[at - 1].isalpha() and not text[at - 1].isupper()


def _links_only(text: str, marks: Sequence[Mark], raws: Sequence[str]) -> list[int]:
    """Return the edges of each link of a text that is only links and separators; none for any other text."""
    edges: list[int] = []
    end = 0
    for start, stop in _links(marks, raws):
        if not _SEPARATORS.fullmatch(text, end, start):
            return []
        edges += [start, stop]
        end = stop
    is_only = len(edges) > _MIN_LETTERS and _SEPARATORS.fullmatch(text, end)
    return sorted({at for at in edges if 0 < at < len(text)}) if is_only else []


def _links(marks: Sequence[Mark], raws: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of links that are not within others."""
    end = 0
    for mark in marks:
        partner = mark.partner if mark.kind is MarkKind.OPEN and mark.at >= end else None
        if partner is not None and _LINK.match(raws[mark.number]):
            end = marks[partner].at
            yield mark.at, end


def _without_edges(
    items: Sequence[InlineItem],
) -> tuple[list[InlineItem], list[InlineItem], list[InlineItem]]:
    """Divide items at the edges of their text: white space, points, line breaks, images, pairs."""
    start, end = 0, len(items)
    partners = pair_nesting((item.kind, None) for item in items)
    while True:
        if _is_edge(items[start]) or (items[start].kind in _HALVES and start not in partners):
            start += 1
        elif _is_edge(items[end - 1]) or (items[end - 1].kind in _HALVES and end - 1 not in partners):
            end -= 1
        elif items[start].kind is TokenKind.OPEN and partners[start] == end - 1:
            start, end = start + 1, end - 1
        else:
            break
    before, core, after = list(items[:start]), list(items[start:end]), list(items[end:])
    if core[0].kind is TokenKind.TEXT and not core[0].is_section:
        num_spaces = len(core[0].text) - len(core[0].text.lstrip())
        if num_spaces:
            space, core[0] = core[0].split(num_spaces)
            before.append(space)
    if core[-1].kind is TokenKind.TEXT and not core[-1].is_section:
        num_words = len(core[-1].text.rstrip())
        if num_words < len(core[-1].text):
            core[-1], space = core[-1].split(num_words)
            after.insert(0, space)
    return before, core, after


_HALVES = (TokenKind.OPEN, TokenKind.CLOSE)


def _is_edge(item: InlineItem) -> bool:
    if item.kind is TokenKind.TEXT:
        return not item.text.strip() and not item.is_section
    return item.kind is TokenKind.POINT or item.ends_line or item.is_blank


@dataclass(slots=True)
class _TextBuilder:
    """Builder of a text."""

    keeps_space: bool
    text: list[str] = field(default_factory=list)
    characters: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    items: list[InlineItem] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)
    sections: list[CdataSection] = field(default_factory=list)
    is_folded: bool = True
    """Whether white space that follows has no width."""
    follows_mark: bool = False
    """Whether a mark came after the last character."""

    def add(self, item: InlineItem) -> None:
        """Add an item."""
        if item.kind is not TokenKind.TEXT:
            self._add_element(item)
            return
        raws = item.raws or item.text
        if self.keeps_space or item.keeps_space:
            self._add_characters(item.text, raws)
        else:
            for run in _RUN.finditer(item.text):
                self._fold(run[0], raws[run.start() : run.end()])
        if item.is_section:
            end = len(self.text)
            self.sections.append(CdataSection(end - len(item.text), end, item.raw))

    def _add_element(self, item: InlineItem) -> None:
        number, at = len(self.items), len(self.text)
        self.items.append(item)
        self.blanks.append("")
        if item.ends_line and item.kind is not TokenKind.POINT:
            self.objects.append(Object(at, at + 1, Shown.BREAK, number))
            self._add_characters("\n", [item.raw])
            self.is_folded = not self.keeps_space
        elif item.kind is TokenKind.WORD:
            shown = Shown.TAG if item.is_blank or _WITHOUT_TEXT.fullmatch(item.raw) else Shown.COPY
            self.objects.append(Object(at, at + 1, shown, number))
            self._add_characters(OBJECT, [item.raw])
        else:
            self.marks.append(Mark(at, MarkKind(item.kind.value), number, None, item.keeps_order))
            self.follows_mark = True
            if item.ends_line and not self.is_folded:
                self._add_characters(" ", [""])
                self.is_folded = True

    def _fold(self, run: str, raws: Sequence[str]) -> None:
        if run[0] not in SPACES:
            self._add_characters(run, raws)
        elif not self.is_folded:
            self._add_characters(" ", ["".join(raws)])
            self.is_folded = True
        elif self.follows_mark:
            self.blanks[-1] += "".join(raws)
        else:
            self.characters[-1] += "".join(raws)

    def _add_characters(self, text: str, raws: Sequence[str]) -> None:
        self.text += text
        self.characters += raws
        self.is_folded = self.follows_mark = False


def translated_items(read: ReadText, translated: MarkedText) -> list[InlineItem]:
    """Return all items of a text with a translation in place of its words."""
    if translated == read.marked:
        return [*read.before, *read.core, *read.after]
    spans = [(mark.at, mark.at, mark.number) for mark in translated.marks]
    spans += [(each.start, each.end, each.number) for each in translated.objects if each.number is not None]
    core: list[InlineItem] = []
    at = 0
    for start, end, number in sorted(spans, key=lambda span: span[:2]):
        core += [InlineItem(TokenKind.TEXT, translated.text[at:start])] * (at < start)
        core.append(read.items[number])
        at = end
    core += [InlineItem(TokenKind.TEXT, translated.text[at:])] * (at < len(translated.text))
    return [*read.before, *core, *read.after]
