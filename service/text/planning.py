"""Chooses the plan of a text: ordinary text, or an ICU message, whose sentences have plans of their own."""

from collections.abc import Sequence
from typing import Protocol

from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.types import Alternative, SegmentTranslation, Translation
from service.text.checks import Check, CheckFailure, check_syntax
from service.text.context import TextContext
from service.text.icu_messages import IcuMessage, icu_message
from service.text.icu_parser import IcuSyntaxError, has_branches
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from service.text.text_plan import Call, TextPlan


class Plan(Protocol):
    """Calls to the engine for a text, and its outcome. It makes no call itself."""

    @property
    def calls(self) -> list[Call]:
        """Calls to make now; empty if the plan is done."""
        ...

    @property
    def outcome(self) -> TextOutcome:
        """What became of the text, once there are no more calls."""
        ...

    @property
    def can_stream(self) -> bool:
        """Whether `take_segment` may be called."""
        ...

    def take(self, translations: Sequence[Translation]) -> None:
        """Take one translation for each of `calls`."""
        ...

    def take_segment(self, segment: SegmentTranslation) -> SegmentTranslation | None:
        """Return the next segment of the first call as one of the text; None from a wrong one on."""
        ...


def plan_text(marked: MarkedText, context: TextContext) -> Plan:
    """Return the plan of a text.

    Args:
        marked: the text, as its reader returned it.
        context: languages, kind and model of the text.
    """
    is_icu = context.shows_objects and not marked.marks and has_branches(marked.text)
    return IcuPlan(marked, context) if is_icu else TextPlan(marked, context)


class IcuPlan:
    """Calls for the sentences of an ICU message."""

    can_stream = False

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
            self._problem = CheckFailure(Check.ICU, error.problem)
            return
        self._plans = [TextPlan(sentence.marked, context) for sentence in self._message.sentences]

    @property
    def calls(self) -> list[Call]:
        """See `Plan`."""
        return [call for plan in self._plans for call in plan.calls]

    def take(self, translations: Sequence[Translation]) -> None:
        """See `Plan`."""
        first = 0
        for plan in self._plans:
            if num_calls := len(plan.calls):
                plan.take(translations[first : first + num_calls])
                first += num_calls

    def take_segment(self, segment: SegmentTranslation) -> SegmentTranslation | None:
        """See `Plan`."""
        del segment
        return None

    @property
    def outcome(self) -> TextOutcome:
        """See `Plan`."""
        if self._message is None:
            problems = () if self._problem is None else (self._problem,)
            return TextOutcome(self._marked, None, problems, is_source=True)
        outcomes = [plan.outcome for plan in self._plans]
        failed = tuple(dict.fromkeys(failure for outcome in outcomes for failure in outcome.failed))
        written = self._message.rebuild([outcome.marked for outcome in outcomes])
        if any(outcome.is_source for outcome in outcomes):
            return TextOutcome(self._marked, None, failed, is_source=True)
        if syntax := check_syntax(self._marked.text, written.text, self._pause):
            return TextOutcome(self._marked, None, syntax, is_source=True)
        parts = [outcome.translation for outcome in outcomes if outcome.translation is not None]
        return TextOutcome(written, _joint_translation(written.text, parts), failed)


def _joint_translation(text: str, parts: Sequence[Translation]) -> Translation:
    """Return the translation of a message, without segments, as it is in no order of the source."""
    scores = [part.score for part in parts if part.score is not None]
    score = sum(scores) / len(scores) if scores else None
    confidences = [part.confidence for part in parts if part.confidence is not None]
    reason = joint_finish_reason([part.finish_reason for part in parts])
    return Translation(text, score, reason, (), (Alternative(text, score),), min(confidences, default=None))
