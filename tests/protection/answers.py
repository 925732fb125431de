"""Answers of an engine to the texts of a plan."""

from collections.abc import Callable

from dragoman.types import Alternative, FinishReason, SegmentTranslation, Span, Translation
from service.protection.text_plan import PlanResult, TextPlan


def answer(source: str, *targets: str) -> Translation:
    """A translation of one segment without links, and its alternatives."""
    whole = Span(0, len(source)), Span(0, len(targets[0]))
    segment = SegmentTranslation(source, targets[0], -1.0, FinishReason.STOP, 1, 1, *whole)
    alternatives = tuple(Alternative(target, -1.0) for target in targets)
    return Translation(targets[0], -1.0, FinishReason.STOP, (segment,), alternatives)


def translate(plan: TextPlan | PlanResult | None, engine: Callable[[str], Translation]) -> PlanResult:
    """The result of a plan whose texts an engine translates."""
    if isinstance(plan, PlanResult):
        return plan
    assert plan is not None
    while plan.texts:
        plan.take_translations([engine(text) for text in plan.texts])
    return plan.result
