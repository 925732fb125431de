"""The plan of one text: what the engine translates, in up to three calls, and what becomes of the results.

text -- objects --> its placeholders, code, identifiers, pairs of marks
text -- showing --> text with stand-ins for the engine: the first call, of the whole text
translation -- segment_trial (judging, placement, joining) --> pieces that are right; each other segment is
tried again alone, with the objects hidden that were missing, and numbers that changed as objects; then
with all hidden, which cannot fail
pieces -- joining --> the translation -- checks --> kept, or the source instead
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from dragoman.errors import InputError
from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.types import Alternative, FinishReason, SegmentTranslation, Span, Splitting, Translation
from service.text.checks import check_added, check_form, check_length
from service.text.context import TextContext
from service.text.entities import References, read_references
from service.text.icu_messages import IcuMessage, icu_message
from service.text.icu_parser import IcuSyntaxError, has_branches
from service.text.joining import (
    JoinedText,
    Piece,
    join_pieces,
    joint_translation,
    restored_text,
    segment_of,
    unchanged_piece,
)
from service.text.marked_text import MarkedText, Shown
from service.text.objects import find_objects
from service.text.options import PlaceholderMode
from service.text.outcome import Check, CheckFailure, TextOrigin, TextOutcome
from service.text.segment_trial import SegmentCutter, is_right, masked, segments_of
from service.text.showing import MarkedPart, ShownText, show


class TextPlan:
    """Calls for a text, and its outcome. It makes no call itself."""

    def __init__(self, marked: MarkedText, context: TextContext) -> None:
        """Find the objects among the words, and prepare the first call.

        Args:
            marked: any text but an ICU message.
            context: languages, kind and model of the text.
        """
        self._context = context
        self._marked = marked
        self._source = find_objects(marked, context) if context.shows_objects else marked
        hidden = frozenset[int]()
        if not context.shows_objects:
            hidden = frozenset(each.start for each in marked.objects if each.shown is not Shown.BREAK)
        own_span, marks = Span(0, len(marked.text)), range(len(marked.marks))
        whole = MarkedPart(self._source, own_span, marks, context.source, context.pause)
        self._first = show(whole, hidden)
        self._slots: list[Piece | ShownText] = [self._first]
        self._taken: list[Translation] = []
        self._outcome: TextOutcome | None = None
        self._streaming: SegmentCutter | None = None
        self._num_streamed = 0
        if context.splitting is not Splitting.SENTENCES:
            self._set_slots(_between_breaks(whole, hidden))

    @property
    def calls(self) -> list[ShownText]:
        """Calls to make now; empty if the plan is done."""
        return [slot for slot in self._slots if isinstance(slot, ShownText)]

    @property
    def outcome(self) -> TextOutcome:
        """Return the outcome of the text, once there are no more calls."""
        if self._outcome is None:
            raise ValueError("texts remain to be translated")
        return self._outcome

    def take(self, outcomes: Iterator[Translation | InputError]) -> None:
        """Take the outcome of each of `calls`, and no further ones. An error rejects the text."""
        translations: list[Translation] = []
        for outcome in islice(outcomes, len(self.calls)):
            if isinstance(outcome, InputError):
                rejection, self._slots = outcome.problem, []
                self._outcome = TextOutcome(self._marked, origin=TextOrigin.SOURCE, rejection=rejection)
            else:
                translations.append(outcome)
        if self._outcome is not None:
            return
        self._taken += translations
        first = self._first
        if self._slots == [first] and first.is_plain and is_right(first, translations[0], self._context):
            self._slots = []
            joined = JoinedText(MarkedText(translations[0].text), ())
            self._outcome = self._checked(joined, translations[0], ())
            return
        remaining = iter(translations)
        slots: list[Piece | ShownText] = []
        for slot in self._slots:
            slots += self._advance(slot, next(remaining)) if isinstance(slot, ShownText) else [slot]
        self._set_slots(slots)

    def take_segment(self, segment: SegmentTranslation) -> SegmentTranslation | None:
        """Return the next segment of the only first call as one of the text; None from a wrong one on.

        The translation of the call, which comes later, has the same segments.
        """
        if self._streaming is None:
            [shown] = self.calls
            self._streaming = SegmentCutter(shown, self._context)
        elif not self._streaming.is_right:
            return None
        found: SegmentTranslation | None = None
        for piece in self._streaming.add(segment):
            if isinstance(piece, ShownText):
                return None
            if piece.translation is not None:
                found = segment_of(self._source, piece, piece.translation, self._num_streamed)
            self._num_streamed += len(piece.text)
        return found

    @property
    def can_stream(self) -> bool:
        """Return whether `take_segment` may be called."""
        has_puts = any(each.put is not None for each in self._source.objects)
        return len(self._slots) == len(self.calls) == 1 and not has_puts

    def _advance(self, shown: ShownText, translation: Translation) -> Iterator[Piece | ShownText]:
        """Yield the pieces of a call that are right, and what to try again."""
        segments = segments_of(shown, translation)
        if segments is None:  # a segment has a break in it
            yield from _between_breaks(shown.part, shown.hidden)
            return
        cutter = SegmentCutter(shown, self._context)
        for segment in segments:
            yield from cutter.add(segment)
            self._context.pause()
        yield cutter.rest()

    def _set_slots(self, slots: Iterable[Piece | ShownText]) -> None:
        """Set the parts of the text, and the outcome if there is nothing to translate in any."""
        self._slots = list(slots)
        pieces = [slot for slot in self._slots if isinstance(slot, Piece)]
        if len(pieces) == len(self._slots):
            self._outcome = self._finish(pieces)

    def _finish(self, pieces: Sequence[Piece]) -> TextOutcome:
        joined = join_pieces(self._source, pieces)
        failed = tuple(failure for piece in pieces for failure in piece.failed)
        if len(self._taken) != 1:
            return self._checked(joined, joint_translation(self._taken, joined), failed)
        [first] = self._taken
        text = joined.marked.text
        restored = ((restored_text(self._first, one.text), one.score) for one in first.alternatives[1:])
        others = (Alternative(other, score) for other, score in restored if other is not None)
        alternatives = (Alternative(text, first.score), *others)
        translation = first._replace(text=text, segments=joined.segments, alternatives=alternatives)
        return self._checked(joined, translation, failed)

    def _checked(
        self, joined: JoinedText, translation: Translation, failed: tuple[CheckFailure, ...]
    ) -> TextOutcome:
        """Return a translation with its checks, or the source if one failed that would break a program."""
        context, translated = self._context, joined.marked
        syntax: tuple[CheckFailure, ...] = ()
        if context.placeholders is PlaceholderMode.AUTO and (
            context.is_message or context.has_prefix or self._source.objects
        ):
            objects = [(each.start, each.end) for each in self._source.objects]
            words, put = masked(self._marked.text, objects), masked(translated.text, joined.puts)
            syntax = check_form(self._marked.text, translated.text) or check_added(words, put, context.pause)
            if syntax and (terms := [term[:2] for term in context.find_terms(words)]):
                syntax = check_added(masked(words, terms), put, context.pause)
        if context.is_message:
            syntax = syntax or check_length(self._marked.text, translated.text)
        if syntax and not context.has_prefix:
            return TextOutcome(self._marked, translation, syntax, TextOrigin.SOURCE)
        return _translated(translated, translation, (*syntax, *failed))


def _translated(
    marked: MarkedText, translation: Translation, failed: tuple[CheckFailure, ...]
) -> TextOutcome:
    """Return the outcome of a translation that is used."""
    is_cut = translation.finish_reason is FinishReason.LENGTH
    return TextOutcome(marked, translation, failed, is_cut=is_cut, confidence=translation.confidence)


def _between_breaks(part: MarkedPart, hidden: frozenset[int]) -> Iterator[Piece | ShownText]:
    """Yield a trial for each part of a text between breaks."""
    marked, mark = part.marked, part.marks.start
    at = part.extent.start
    breaks = [
        marked.objects[i] for i in marked.objects_in(*part.extent) if marked.objects[i].shown is Shown.BREAK
    ]
    for each in breaks:
        last = part.marks_before(each, mark)
        yield _trial(part, Span(at, each.start), range(mark, last), hidden)
        yield unchanged_piece(part, Span(each.start, each.end), range(0))
        at, mark = each.end, last
    yield _trial(part, Span(at, part.extent.end), range(mark, part.marks.stop), hidden)


def _trial(whole: MarkedPart, extent: Span, marks: range, hidden: frozenset[int]) -> Piece | ShownText:
    part = replace(whole, extent=extent, marks=marks)
    shown = show(part, hidden)
    return shown if shown.text.strip() else unchanged_piece(part, extent, marks)


class _WholePlan:
    """A plan that gives no segment before its outcome."""

    can_stream = False

    def take_segment(self, _: SegmentTranslation) -> SegmentTranslation | None:
        """See `TextPlan`."""
        return None


class IcuPlan(_WholePlan):
    """Calls for the sentences of an ICU message."""

    def __init__(self, marked: MarkedText, context: TextContext) -> None:
        """Parse the message; one that cannot be parsed is left as it is."""
        self._marked = marked
        self._message: IcuMessage | None = None
        self._plans: list[TextPlan] = []
        self._problem: CheckFailure | None = None
        self._pause = context.pause
        try:
            self._message = icu_message(marked, context.source, context.target)
        except IcuSyntaxError as error:
            self._problem = CheckFailure(Check.ICU, str(error))
            return
        self._plans = [TextPlan(sentence.marked, context) for sentence in self._message.sentences]

    @property
    def calls(self) -> list[ShownText]:
        """See `TextPlan`."""
        return [call for plan in self._plans for call in plan.calls]

    def take(self, outcomes: Iterator[Translation | InputError]) -> None:
        """See `TextPlan`."""
        for plan in self._plans:
            plan.take(outcomes)

    @property
    def outcome(self) -> TextOutcome:
        """See `TextPlan`."""
        outcomes = [plan.outcome for plan in self._plans]
        failed = tuple(dict.fromkeys(failure for outcome in outcomes for failure in outcome.failed))
        if self._message is None or any(outcome.is_source for outcome in outcomes):
            rejection = next((outcome.rejection for outcome in outcomes if outcome.rejection), None)
            failed = failed if self._problem is None else (self._problem,)
            return TextOutcome(self._marked, None, failed, TextOrigin.SOURCE, rejection=rejection)
        written = self._message.rebuild([outcome.marked for outcome in outcomes])
        if syntax := check_form(self._marked.text, written.text):
            return TextOutcome(self._marked, None, syntax, TextOrigin.SOURCE)
        parts = [outcome.translation for outcome in outcomes if outcome.translation is not None]
        return _translated(written, _message_translation(written.text, parts), failed)


def _message_translation(text: str, parts: Sequence[Translation]) -> Translation:
    """Return the translation of a message, without segments, as it is in no order of the source."""
    scores = [part.score for part in parts if part.score is not None]
    score = sum(scores) / len(scores) if scores else None
    confidences = [part.confidence for part in parts if part.confidence is not None]
    reason = joint_finish_reason([part.finish_reason for part in parts])
    return Translation(text, score, reason, (), (Alternative(text, score),), min(confidences, default=None))


class ReferencePlan(_WholePlan):
    """Calls for a plain text with character references, which the model sees as the characters."""

    def __init__(self, references: References, marked: MarkedText, context: TextContext) -> None:
        """Plan the text that the references mean."""
        self._references = references
        self._marked = marked
        self._plan = plan_text(MarkedText(references.text), context)

    @property
    def calls(self) -> list[ShownText]:
        """See `TextPlan`."""
        return self._plan.calls

    def take(self, outcomes: Iterator[Translation | InputError]) -> None:
        """See `TextPlan`."""
        self._plan.take(outcomes)

    @property
    def outcome(self) -> TextOutcome:
        """See `TextPlan`."""
        found = self._plan.outcome
        translation = found.translation and self._references.write_translation(found.translation)
        written = MarkedText(self._references.write(found.marked.text))
        return replace(found, marked=self._marked if found.is_source else written, translation=translation)


Plan = TextPlan | IcuPlan | ReferencePlan


def plan_text(marked: MarkedText, context: TextContext) -> Plan:
    """Return the plan of a text.

    Args:
        marked: the text, as its reader returned it.
        context: languages, kind and model of the text.
    """
    if context.shows_objects and "&" in marked.text and marked.is_plain:
        references = read_references(marked.text)
        if references is not None:
            return ReferencePlan(references, marked, context)
    is_icu = context.shows_objects and has_branches(marked.text)
    return IcuPlan(marked, context) if is_icu else TextPlan(marked, context)
