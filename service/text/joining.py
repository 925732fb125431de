"""Puts objects and marks into the translation of a segment, and joins segments to a text."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.scripts import is_word_character
from dragoman.types import Alternative, FinishReason, Link, SegmentTranslation, Span, Translation
from service.text.accelerators import written_accelerator
from service.text.alignment import Stretch
from service.text.judging import FoundStandIn, match_stand_ins
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object, Shown, with_partners
from service.text.no_break_spaces import has_no_break_space, with_no_break_spaces
from service.text.outcome import CheckFailure
from service.text.placement import Movable, Placement, place
from service.text.position_map import PositionMap, Run
from service.text.showing import MarkedPart, ShownText, StandIn

_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%\u2026\u3002\u3001\uff0c\uff01\uff1f")
_NO_SPACE_AFTER = frozenset("([{\u00bf\u00a1")


class PutObject(NamedTuple):
    """An object in a translation."""

    start: int
    end: int
    found: Object


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Part of a text in translation: a segment, or what is between two, which does not change."""

    extent: Span
    """Position in the text."""
    text: str
    objects: tuple[PutObject, ...] = ()
    """With positions in `text`."""
    marks: tuple[tuple[int, int], ...] = ()
    """Position in `text` and index of each mark, in the order of the translation."""
    links: tuple[Link, ...] | None = None
    """Aligned words: positions in the whole source, and in `text`."""
    translation: SegmentTranslation | None = None
    """As the engine returned it; None between segments."""
    failed: tuple[CheckFailure, ...] = ()
    """Checks that it failed after all tries."""


def unchanged_piece(
    part: MarkedPart, extent: Span, marks: range, translation: SegmentTranslation | None = None
) -> Piece:
    """Return a part of a text as it is, with some of its marks, and with what is put for its objects."""
    marked = part.marked
    within = marked.objects_in(*extent)
    if any(marked.objects[i].put is not None for i in within):
        return _put_piece(part, extent, marks, translation)
    objects = (marked.objects[i] for i in within)
    return Piece(
        extent,
        marked.text[extent.start : extent.end],
        tuple(PutObject(one.start - extent.start, one.end - extent.start, one) for one in objects),
        tuple((min(max(marked.marks[i].at, extent.start), extent.end) - extent.start, i) for i in marks),
        None if translation is None or translation.links is None else (),
        translation,
    )


def _put_piece(part: MarkedPart, extent: Span, marks: range, translation: SegmentTranslation | None) -> Piece:
    """Return a part of a text whose words stay, as a segment: some of its objects are put otherwise."""
    marked = part.marked
    spans = {i: Span(marked.objects[i].start, marked.objects[i].end) for i in marked.objects_in(*extent)}
    found = [FoundStandIn(span, StandIn(i, "", span, span, "", "")) for i, span in spans.items()]
    movables = [
        Movable(min(max(marked.marks[i].at, extent.start), extent.end), MarkKind.POINT, i, is_object=False)
        for i in marks
    ]
    renderer = _Renderer(part, movables, found, marked.text, extent)
    for i, movable in enumerate(movables):
        renderer.put(Placement(movable.at, i))
    text = renderer.finish()
    segment = translation or SegmentTranslation(
        marked.text[slice(*extent)], text, None, FinishReason.COPIED, 0, 0, extent, Span(0, len(text))
    )
    links = None if segment.links is None else ()
    return Piece(extent, text, tuple(renderer.objects), tuple(renderer.marks), links, segment)


def translated_piece(
    shown: ShownText,
    extent: Span,
    moving: range,
    found: Sequence[FoundStandIn],
    translation: SegmentTranslation,
) -> Piece:
    """Return the translation of a segment with all that belongs to it.

    Args:
        shown: what was translated.
        extent: position of the segment in the text.
        moving: which of the movables belong to it.
        found: the stand-ins in its translation.
        translation: the segment as the engine returned it.
    """
    source, translated = translation.source_span, translation.text
    shift = translation.span.start
    moved = (_shifted(one, -shift) for one in translation.links or ())
    links_within = tuple(link for link in moved if _is_within(link, source, translated))
    segment = Stretch(source, Span(0, len(translated)), links_within)
    placed = place(shown.text, translated, shown.movables, segment, moving)
    renderer = _Renderer(shown.part, shown.movables, found, translated, segment.target)
    for each in placed:
        renderer.put(each)
    text, words = renderer.finish(), shown.part.marked.text[slice(*extent)]
    if has_no_break_space(words):
        at = extent.start
        objects = [((put.found.start - at, put.found.end - at), put[:2]) for put in renderer.objects]
        text = with_no_break_spaces(words, text, objects)
    targets = PositionMap(renderer.runs, 0)
    links = None
    if translation.links is not None:
        # A link of several stand-ins would be cut at the words between them.
        links = tuple(
            Link(shown.positions.span(link.source), targets.span(link.target))
            for link in segment.links
            if not shown.positions.has_several(link.source)
        )
    return Piece(extent, text, tuple(renderer.objects), tuple(renderer.marks), links, translation)


def _shifted(link: Link, by: int) -> Link:
    return Link(link.source, Span(link.target.start + by, link.target.end + by))


def _is_within(link: Link, source: Span, target: str) -> bool:
    return (
        source.start <= link.source.start < link.source.end <= source.end
        and 0 <= link.target.start < link.target.end <= len(target)
    )


def restored_text(shown: ShownText, translated: str) -> str | None:
    """Return another translation of a text with its objects; None if it lacks one, or if some are hidden."""
    names = [stand_in.text for stand_in in shown.stand_ins if "$" in stand_in.text]
    if shown.is_aligned or len(set(names)) < len(names) or any(one.text == "\n" for one in shown.stand_ins):
        return None
    target = Span(0, len(translated))
    match = match_stand_ins(shown.stand_ins, translated, target)
    if match.missing:
        return None
    renderer = _Renderer(shown.part, shown.movables, match.found, translated, target)
    whole = Stretch(Span(0, len(shown.text)), target, ())
    for each in place(shown.text, translated, shown.movables, whole, range(len(shown.movables))):
        renderer.put(each)
    return renderer.finish()


@dataclass(slots=True, eq=False)
class _Renderer:
    """Writes the translation of a segment with its objects, and with the marks' positions."""

    part: MarkedPart
    movables: Sequence[Movable]
    found: Sequence[FoundStandIn]
    translated: str
    target: Span
    pieces: list[str] = field(default_factory=list)
    objects: list[PutObject] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    length: int = 0
    at: int = field(init=False)
    next_found: int = 0
    last: str = ""
    """Last character written."""
    owes_space: bool = False
    """Whether white space must precede the next text."""
    parts_letters: bool = False
    """The same for text that begins with a letter: what separated it from a hidden object is gone."""

    def __post_init__(self) -> None:
        self.at = self.target.start

    def put(self, placed: Placement) -> None:
        """Write the translation up to a movable, and the movable."""
        self._copy_until(placed.at)
        movable = self.movables[placed.movable]
        following = self.translated[self.at : min(self.at + 1, self.target.end)]
        if movable.kind is MarkKind.OPEN and not following.isspace():
            self._write_pending_space(following)  # outside of the element
        if not movable.is_object:
            self.marks.append((self.length, movable.source_index))
            return
        found = self.part.marked.objects[movable.source_index]
        if movable.key:
            self._put_key(found, following)
        elif found.shown is Shown.LINE:
            self._put_line(found)
        elif movable.kind is not MarkKind.POINT:
            self._put_object(found)
        else:
            self._put_point(found)

    def _put_point(self, found: Object) -> None:
        """Write a hidden object, with white space between it and words if that was there in the source."""
        before = self.part.marked.text[max(0, found.start - 1) : found.start]
        after = self.part.marked.text[found.end : found.end + 1]
        if before.isspace() and self.last and self.last not in _NO_SPACE_AFTER:
            self.owes_space = True
        self.owes_space = self.owes_space or (_is_word(self.last) and not _is_word(before) and before != "")
        self._write_pending_space(OBJECT)
        self._put_object(found)
        self.owes_space, self.parts_letters = after.isspace(), not _is_word(after)

    def finish(self) -> str:
        """Write the rest, and return the text."""
        self._copy_until(self.target.end)
        return "".join(self.pieces)

    def _copy_until(self, end: int) -> None:
        while self.next_found < len(self.found) and self.found[self.next_found].span.start < end:
            found = self.found[self.next_found]
            self.next_found += 1
            self._copy(found.span.start)
            self._write_pending_space(OBJECT)
            start = self.length
            self._put_object(self.part.marked.objects[found.stand_in.object_index])
            self.runs.append(Run(*found.span, Span(start, self.length), is_copy=False))
            self.at = found.span.end
        self._copy(end)

    def _copy(self, end: int) -> None:
        if self.at < end:
            self._write_pending_space(self.translated[self.at])
            self.runs.append(Run(self.at, end, Span(self.length, self.length + end - self.at)))
            self._write(self.translated[self.at : end])
            self.at = end

    def _put_line(self, found: Object) -> None:
        """Write a line break in place of the next blank."""
        blank = self.translated.find(" ", self.at, self.target.end)
        self._copy_until(self.target.end if blank < 0 else blank)
        self._put_object(found)
        self.at = min(self.at + 1, self.target.end)

    def _put_key(self, found: Object, following: str) -> None:
        """Write an accelerator: before a letter its sign, else `(&K)` as where there are no letters."""
        sign, key = written_accelerator(self.part.marked.text, found)
        if following.isalnum():
            self._write_pending_space(following)
        start = self.length
        self._write(sign if following.isalnum() else f"{' ' * bool(self.length)}({sign}{key.upper()})")
        self.objects.append(PutObject(start, self.length, found))

    def _put_object(self, found: Object) -> None:
        start = self.length
        self._write(self.part.marked.text[found.start : found.end] if found.put is None else found.put)
        self.objects.append(PutObject(start, self.length, found))

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)
        self.last = text[-1:] or self.last

    def _write_pending_space(self, following: str) -> None:
        needs_space = self.owes_space or (self.parts_letters and following != OBJECT and _is_word(following))
        is_apart = following == "" or following.isspace() or following in _NO_SPACE_BEFORE
        if needs_space and not is_apart and self.last and not self.last.isspace():
            self._write(" ")
        self.owes_space = self.parts_letters = False


def _is_word(character: str) -> bool:
    return character != "" and is_word_character(character)


class JoinedText(NamedTuple):
    """A text put together from its pieces."""

    marked: MarkedText
    segments: tuple[SegmentTranslation, ...]
    """With positions in the texts, not in what the model saw."""
    puts: tuple[Span, ...] = ()
    """Positions of all objects, in order."""


def join_pieces(source: MarkedText, pieces: Sequence[Piece]) -> JoinedText:
    """Return the translation of a text.

    Args:
        source: the text.
        pieces: parts that make up the text, in order.
    """
    length = 0
    marks: list[Mark] = []
    objects: list[Object] = []
    segments: list[SegmentTranslation] = []
    puts: list[Span] = []
    for piece in pieces:
        marks += (replace(source.marks[i], at=length + at) for at, i in piece.marks)
        objects += (
            replace(put.found, start=length + put.start, end=length + put.end)
            for put in piece.objects
            if put.found.number is not None  # others are words again
        )
        puts += (Span(length + put.start, length + put.end) for put in piece.objects)
        if piece.translation is not None:
            segments.append(segment_of(source, piece, piece.translation, length))
        length += len(piece.text)
    text = "".join(piece.text for piece in pieces)
    return JoinedText(MarkedText(text, with_partners(marks), tuple(objects)), tuple(segments), tuple(puts))


def segment_of(
    source: MarkedText, piece: Piece, translation: SegmentTranslation, length: int
) -> SegmentTranslation:
    """Return the translation of a segment that begins at this position of the text's translation."""
    links = None if piece.links is None else tuple(_shifted(link, length) for link in piece.links)
    return translation._replace(
        source=source.text[piece.extent.start : piece.extent.end],
        text=piece.text,
        source_span=piece.extent,
        span=Span(length, length + len(piece.text)),
        links=links,
    )


def joint_translation(taken: Sequence[Translation], joined: JoinedText) -> Translation:
    """Return a translation of several calls.

    The score is the mean of those of the segments, weighted by their target tokens; the confidence is the
    lowest of those of the calls.
    """
    scored = [segment for segment in joined.segments if segment.score is not None]
    num_tokens = sum(segment.num_target_tokens for segment in scored)
    total = sum((segment.score or 0.0) * segment.num_target_tokens for segment in scored)
    has_scores = any(translation.score is not None for translation in taken)
    score = (total / num_tokens if num_tokens else 0.0) if has_scores else None
    confidences = [one.confidence for one in taken if one.confidence is not None]
    return Translation(
        joined.marked.text,
        score,
        joint_finish_reason([segment.finish_reason for segment in joined.segments]),
        joined.segments,
        (Alternative(joined.marked.text, score),),
        min(confidences, default=None),
    )
