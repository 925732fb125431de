"""Markup read, translated and written in one go, with objects hidden: its marks are placed by links alone."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape

from dragoman.types import Translation
from service.text.context import TextContext
from service.text.escaping import escape_html
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object, Shown, with_partners
from service.text.modes import PlaceholderMode
from service.text.options import MarkupOptions
from service.text.outcome import TextOutcome
from service.text.reading import ReadText, read_markup
from service.text.text_plan import TextPlan, plan_text
from service.text.tokens import InlineItem
from service.text.writing import write_markup

HIDDEN = TextContext("de", "en", placeholders=PlaceholderMode.OFF)


def outcome(
    marked: MarkedText, engine: Callable[[str], Translation], context: TextContext = HIDDEN
) -> TextOutcome:
    """What becomes of a text that an engine translates."""
    plan = plan_text(marked, context)
    while plan.calls:
        plan.take(iter([engine(call.text) for call in plan.calls]))
    return plan.outcome


@dataclass(frozen=True)
class Parsed:
    """Markup, read."""

    parts: Sequence[ReadText | InlineItem]
    options: MarkupOptions

    @property
    def blocks(self) -> tuple[str, ...]:
        """What an engine sees of each text if objects are hidden."""
        plans = (TextPlan(part.marked, HIDDEN) for part in self.parts if isinstance(part, ReadText))
        return tuple(plan.calls[0].text for plan in plans)

    def rejoin(self, translations: Sequence[Translation]) -> str:
        """The markup with one translation for each of its texts."""
        remaining = iter(translations)
        return self.translate(lambda _: next(remaining))

    def translate(self, engine: Callable[[str], Translation], context: TextContext = HIDDEN) -> str:
        """The markup with its texts as an engine translates them."""
        return "".join(
            part.raw
            if isinstance(part, InlineItem)
            else write_markup(part, outcome(part.marked, engine, context), self.options.language)
            for part in self.parts
        )


def parse(markup: str, options: MarkupOptions) -> Parsed:
    return Parsed(read_markup(markup, options), options)


_NOTATION = re.compile(r'<g i="(\d+)">|(</g>)|<x i="(\d+)"/>|<\?p (\d+)\?>|<br i="(\d+)"/>')


def noted(marked: MarkedText) -> str:
    """A text with its marks and objects as numbered tags, and escaped if it has some."""
    tags = {MarkKind.OPEN: '<g i="{}">', MarkKind.CLOSE: "</g>", MarkKind.POINT: "<?p {}?>"}
    places = [(mark.at, mark.at, tags[mark.kind].format(mark.number)) for mark in marked.marks]
    for each in marked.objects:
        tag = '<br i="{}"/>' if each.shown is Shown.BREAK else '<x i="{}"/>'
        places.append((each.start, each.end, tag.format(each.number)))
    pieces: list[str] = []
    at = 0
    for start, end, tag in sorted(places, key=lambda place: place[:2]):
        pieces += (escape_html(marked.text[at:start]), tag)
        at = end
    return "".join((*pieces, escape_html(marked.text[at:]))) if places else marked.text


def unnoted(text: str, source: MarkedText) -> MarkedText:
    """The text that `noted` wrote; the CLOSE of a pair has the number that it has in the source."""
    closes = {
        mark.number: source.marks[mark.partner].number
        for mark in source.marks
        if mark.kind is MarkKind.OPEN and mark.partner is not None
    }
    pieces: list[str] = []
    marks: list[Mark] = []
    objects: list[Object] = []
    opened: list[int] = []
    at = length = 0
    for found in _NOTATION.finditer(text):
        pieces.append(unescape(text[at : found.start()]))
        length += len(pieces[-1])
        at = found.end()
        if found[1]:
            opened.append(int(found[1]))
            marks.append(Mark(length, MarkKind.OPEN, opened[-1]))
        elif found[2]:
            marks.append(Mark(length, MarkKind.CLOSE, closes[opened.pop()]))
        elif found[4]:
            marks.append(Mark(length, MarkKind.POINT, int(found[4])))
        else:
            shown = Shown.BREAK if found[5] else Shown.COPY
            objects.append(Object(length, length + 1, shown, int(found[3] or found[5])))
            pieces.append("\n" if found[5] else OBJECT)
            length += 1
    pieces.append(unescape(text[at:]) if at else text[at:])
    return MarkedText("".join(pieces), with_partners(marks), tuple(objects))
