"""Searches and lanes over fake steppers, and what holds for a source in any of them."""

from collections.abc import Callable
from typing import Any

from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane, FinishedSource, Lane, make_strategy, open_strategy, search
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.types import Hypothesis, Method, SearchKind
from tests.engine.decoding.fake_stepper import EOS, FakeReadingStepper, FakeStepper

KINDS = [
    SearchKind(1),
    SearchKind(3),
    SearchKind(1, method=Method.FILTERED),
    SearchKind(3, method=Method.FILTERED),
    SearchKind(3, method=Method.SAMPLE),
]
"""With each strategy."""


def search_with(
    stepper: FakeStepper,
    sources: list[Source],
    method: Method = Method.SEARCH,
    target: TargetVocabulary | None = None,
) -> list[list[Hypothesis]]:
    """Search for all sources side by side."""
    target = target or TargetVocabulary(EOS, stepper.model.vocab_size)
    return search(stepper, make_strategy(sources, SearchKind(stepper.beam_size, method=method), target))


def lane_over(
    stepper: FakeStepper, method: Method = Method.SEARCH, target: TargetVocabulary | None = None
) -> AnyLane[list[int]]:
    target = target or TargetVocabulary(EOS, stepper.model.vocab_size)
    kind = SearchKind(stepper.beam_size, method=method)
    if isinstance(stepper, FakeReadingStepper):
        return open_lane(kind, stepper, target)
    return Lane(kind, stepper, open_strategy(kind, target))


def join(lane: AnyLane[list[int]], sources: list[Source]) -> None:
    lane.join(sources, [source.ids[0] for source in sources])


def run_to_end(lane: AnyLane[Any]) -> list[FinishedSource]:
    found: list[FinishedSource] = []
    while lane.sources:
        found += lane.step()
    return found


def search_as_they_arrive(
    lane: AnyLane[list[int]], sources: list[Source], delays: list[int], num_dropped: int = 0
) -> list[FinishedSource]:
    """Step `delays[i]` times before source i joins; those that come in one step join together."""
    found: list[FinishedSource] = []
    together: list[Source] = []
    for source, delay in zip(sources, delays, strict=True):
        if delay and together:
            join(lane, together)
            together = []
        for _ in range(delay):
            if lane.sources:
                found += lane.step()
        together.append(source)
    join(lane, together)
    lane.remove(set(sources[:num_dropped]))
    return found + run_to_end(lane)


def facts(hypotheses: list[Hypothesis]) -> list[tuple[object, ...]]:
    """All that hypotheses say; their readings alone are equal by identity only."""
    return [
        (one._replace(reading=None), one.reading and (one.reading.logprobs, one.reading.attention.tolist()))
        for one in hypotheses
    ]


def check_alone(open_alone: Callable[[], AnyLane[list[int]]], found: FinishedSource) -> None:
    """A source found the same alone."""
    lane = open_alone()
    join(lane, [found.source])
    (alone,) = run_to_end(lane)
    assert found.error is alone.error is None
    assert facts(found.hypotheses) == facts(alone.hypotheses)


def check_fault(
    open_alone: Callable[[], AnyLane[list[int]]],
    lane: AnyLane[list[int]],
    sources: list[Source],
    faulty: Source,
) -> None:
    """A source that gets what is not a number fails, and the others find what they find alone."""
    join(lane, sources)
    found = {one.source: one for one in run_to_end(lane)}
    fault = found.pop(faulty)
    assert isinstance(fault.error, FloatingPointError)
    assert fault.hypotheses == []
    assert set(found) == set(sources) - {faulty}
    for one in found.values():
        check_alone(open_alone, one)


def check_any_company(
    open_empty: Callable[[], AnyLane[list[int]]],
    sources: list[Source],
    delays: list[int],
    num_dropped: int = 0,
) -> list[FinishedSource]:
    """Every source finds what it finds alone, whoever is beside it, whenever it joins and others leave."""
    found = search_as_they_arrive(open_empty(), sources, delays, num_dropped)

    assert {id(one.source) for one in found} >= {id(source) for source in sources[num_dropped:]}
    for one in found:
        check_alone(open_empty, one)
    return found
