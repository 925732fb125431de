"""Takes protected spans out of a block: word alignment then places them, like markup, in its translation."""

import html
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dragoman.types import Alternative, SegmentTranslation, Span, Translation
from service.markup.blocks import Block, Mark
from service.markup.escaping import escape_html
from service.markup.options import MarkupLanguage
from service.markup.rendering import write
from service.markup.tokens import TokenKind
from service.protection.patterns import ProtectedSpan, SpanForm

_TAG = re.compile(r"<(/?)([\w:.-]+)")


def plain_block(text: str) -> Block:
    """Return plain text as a block without markup."""
    return Block(text, [escape_html(character) for character in text], (), ())


def write_plain(block: Block, translation: Translation, source: str) -> Translation:
    """Return the translation of a plain text with the spans that were taken out of its block.

    It is one segment without links, as positions in the translation are no longer known.
    """
    text = html.unescape(write(block, translation, MarkupLanguage.HTML))
    segments = translation.segments
    tokens = [segment.tokens for segment in segments if segment.tokens is not None]
    whole = SegmentTranslation(
        source,
        text,
        translation.score,
        translation.finish_reason,
        sum(segment.num_source_tokens for segment in segments),
        sum(segment.num_target_tokens for segment in segments),
        Span(0, len(source)),
        Span(0, len(text)),
        (),
        tuple(token for found in tokens for token in found) if tokens else None,
    )
    return replace(
        translation, text=text, segments=(whole,), alternatives=(Alternative(text, translation.score),)
    )


class Remainder(NamedTuple):
    """What is left of a block."""

    block: Block
    spans: tuple[ProtectedSpan, ...]
    """Spans that were not taken out, at their new positions."""


def take_out(block: Block, spans: Sequence[ProtectedSpan], taken: Collection[int]) -> Remainder:
    """Return a block with marks in place of some of its spans.

    Pairs of tags become elements, other spans words. Between letters, a space takes the place of a span, as
    its neighbours are two words; of the spaces around a span, one stays.

    Args:
        block: the block.
        spans: its protected spans, in order; none has a mark of the block in it.
        taken: indexes of the spans to take out.
    """
    builder = _Builder(block)
    pairs = _pair_tags(block, [spans[i] for i in sorted(taken)])
    remaining: list[ProtectedSpan] = []
    for i, span in enumerate(spans):
        builder.copy(span.start)
        if i in taken:
            builder.take(span, pairs)
        else:
            remaining.append(builder.keep(span))
    return Remainder(builder.finish(pairs), tuple(remaining))


@dataclass(slots=True, eq=False)
class _Builder:
    block: Block
    text: list[str] = field(default_factory=list)
    raws: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    own_marks: list[int] = field(default_factory=list)
    """Index in `marks` of each mark of the block."""
    taken_marks: list[int] = field(default_factory=list)
    """The same for each span."""
    at: int = 0

    def copy(self, end: int) -> None:
        """Copy the block's text and marks up to a position, and the marks at it."""
        marks = self.block.marks
        while len(self.own_marks) < len(marks) and marks[len(self.own_marks)].at <= end:
            mark = marks[len(self.own_marks)]
            self._copy_text(mark.at)
            self.own_marks.append(len(self.marks))
            self.marks.append(replace(mark, at=len(self.text)))
        self._copy_text(end)

    def keep(self, span: ProtectedSpan) -> ProtectedSpan:
        """Copy a span; return it at its new position."""
        start = len(self.text)
        self._copy_text(span.end)
        return span._replace(start=start, end=len(self.text))

    def take(self, span: ProtectedSpan, pairs: Mapping[int, int]) -> None:
        """Put a mark in place of a span."""
        partner = pairs.get(len(self.taken_marks))
        raw = "".join(self.block.raws[span.start : span.end])
        kind = TokenKind.WORD
        if span.form is SpanForm.TAG:
            is_first = partner is not None and partner > len(self.taken_marks)
            kind = TokenKind.POINT if partner is None else TokenKind.OPEN if is_first else TokenKind.CLOSE
        self.taken_marks.append(len(self.marks))
        self.marks.append(Mark(kind, len(self.text), raw, partner))
        self.at = span.end
        following = self.block.text[span.end : span.end + 1]
        if kind is not TokenKind.WORD:
            return
        if self.text and self.text[-1].isalnum() and following.isalnum():
            self.text.append(" ")
            self.raws.append("")
        elif following == " " and (not self.text or self.text[-1] == " ") and not self._has_mark(span.end):
            self.marks.append(Mark(TokenKind.TEXT, len(self.text), self.block.raws[span.end]))
            self.at += 1

    def finish(self, pairs: Mapping[int, int]) -> Block:
        """Return the block. CDATA sections become plain text."""
        self.copy(len(self.block.text))
        num_own = len(self.own_marks)
        for mark, i in zip(self.block.marks, self.own_marks, strict=True):
            if mark.partner is not None:
                partner = self.own_marks[mark.partner] if 0 <= mark.partner < num_own else mark.partner
                self.marks[i] = replace(
                    self.marks[i], partner=len(self.marks) if mark.partner >= num_own else partner
                )
        for i, partner in pairs.items():
            self.marks[self.taken_marks[i]] = replace(
                self.marks[self.taken_marks[i]], partner=self.taken_marks[partner]
            )
        return Block("".join(self.text), self.raws, self.marks, ())

    def _has_mark(self, at: int) -> bool:
        following = self.block.marks[len(self.own_marks) : len(self.own_marks) + 1]
        return any(mark.at == at for mark in following)

    def _copy_text(self, end: int) -> None:
        if self.at < end:
            self.text += self.block.text[self.at : end]
            self.raws += self.block.raws[self.at : end]
            self.at = end


def _pair_tags(block: Block, spans: Sequence[ProtectedSpan]) -> dict[int, int]:
    """Return the other half of each tag whose pair nests properly; none among the marks of other markup."""
    pairs: dict[int, int] = {}
    if block.marks:
        return pairs
    open_tags: list[tuple[str, int]] = []
    for i, span in enumerate(spans):
        tag = _TAG.match(block.text, span.start, span.end)
        if tag is None or span.form is not SpanForm.TAG:
            continue
        if not tag[1]:
            open_tags.append((tag[2], i))
        elif open_tags and open_tags[-1][0] == tag[2]:
            _, start = open_tags.pop()
            pairs[start], pairs[i] = i, start
    return pairs
