"""One replica searches, samples and reads at the same time, each in a lane of its own."""

from collections.abc import Callable, Sequence
from ctypes import c_int64
from dataclasses import replace
from functools import partial

import pytest

from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import ONE_STEP, AnyLane, FinishedSource, Lane, StepLimit, open_strategy
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import TargetLimits, TargetVocabulary
from dragoman.loading import GPU_CAPACITY
from dragoman.scheduling.policy import Capacity, Tier
from dragoman.scheduling.replica import Replica
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.types import Method, Priority, SearchKind
from tests.engine.decoding.fake_lanes import facts
from tests.engine.decoding.fake_stepper import BOS, EOS, FakeReadingStepper, FakeStepper, Ids, Logprobs
from tests.engine.scheduling.doubles import MODEL

KINDS = [
    SearchKind(1),
    SearchKind(3),
    SearchKind(2, method=Method.FILTERED),
    SearchKind(2, method=Method.SAMPLE),
    SearchKind(1, method=Method.SCORE),
    SearchKind(1, method=Method.ALIGN),
]
NUM_SOURCES = 30
CAPACITY = Capacity(max_rows=200, max_sources=NUM_SOURCES, budget_tokens=1000)


class Stumbling(FakeReadingStepper):
    """Its steps fail while source 17 is not alone."""

    def read_on(self, last_ids: Ids) -> Logprobs:
        numbers = {number for number, _ in self.rows}
        if 17 in numbers and len(numbers) > 1:
            raise RuntimeError("the step failed")
        return super().read_on(last_ids)


def encode(sources: Sequence[Sequence[int]]) -> list[int]:
    return [source[0] for source in sources]


def open_any(kind: SearchKind) -> AnyLane[list[int]]:
    stepper = Stumbling(MODEL, [1] * NUM_SOURCES, kind.beam_size)
    return open_lane(kind, stepper, TargetVocabulary(EOS, MODEL.vocab_size))


def request_of(number: int, kind: SearchKind, on_done: Callable[[int, Outcome], object]) -> SegmentRequest:
    return SegmentRequest(
        (number,),
        TargetLimits(6 + number % 3, number % 3),
        (BOS,),
        num_hypotheses=kind.beam_size,
        repetition_penalty=1.5,
        sampling=Sampling(top_k=3),
        seed=number,
        target_ids=(3, 4, 5)[: number % 4],
        kind=kind,
        priority=Priority.JOB,
        on_done=partial(on_done, number),
    )


def long_request(ids: tuple[int, ...], num_tokens: int, kind: SearchKind, tier: Tier) -> SegmentRequest:
    limits = TargetLimits(num_tokens, num_tokens)
    return SegmentRequest(ids, limits, (BOS,), kind=kind, tier=tier)


def outcomes_of(requests: list[tuple[int, SearchKind]]) -> list[Outcome]:
    replica = Replica(encode, open_any, CAPACITY)
    outcomes: dict[int, Outcome] = {}
    replica.join([request_of(number, kind, outcomes.__setitem__) for number, kind in requests])
    while replica.num_sources:
        replica.step()
    return [outcomes[number] for number, _ in requests]


def reported(outcome: Outcome) -> list[tuple[object, ...]]:
    assert not isinstance(outcome, Exception)
    return facts(outcome)


def test_sources_of_all_methods_get_what_they_get_alone_even_after_a_step_that_failed() -> None:
    requests = [(number, KINDS[number % len(KINDS)]) for number in range(NUM_SOURCES)]

    together = outcomes_of(requests)

    for request, outcome in zip(requests, together, strict=True):
        (alone,) = outcomes_of([request])
        assert reported(outcome) == reported(alone)


class NotingLane(Lane[list[int]]):
    """Notes how many steps it may make."""

    def __init__(self, limits: list[StepLimit], kind: SearchKind) -> None:
        target = TargetVocabulary(EOS, MODEL.vocab_size)
        stepper = FakeStepper(MODEL, [], kind.beam_size)
        super().__init__(kind, stepper, open_strategy(kind, target))
        self.limits = limits

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        self.limits.append(limit)
        return super().step(limit)


@pytest.mark.parametrize("is_watched", [False, True])
@pytest.mark.parametrize("num_kinds", [1, 2])
def test_only_sources_of_one_kind_that_nobody_watches_may_make_any_number_of_steps(
    *, is_watched: bool, num_kinds: int
) -> None:
    """But for the first one, whose end is reported."""
    limits: list[StepLimit] = []
    replica = Replica(encode, partial(NotingLane, limits), CAPACITY)
    for kind in KINDS[:num_kinds]:
        request = long_request((kind.beam_size,), 99, kind, Tier.LIGHT)
        request.on_step = print if is_watched else None
        replica.join([request])
    counter = c_int64(3)
    for _ in range(num_kinds + 2):  # the first of each kind encodes
        replica.step(counter, 3)

    first, last = limits[0], limits[-1]
    assert first == ONE_STEP
    assert (last.counter is counter) == (num_kinds == 1 and not is_watched)
    assert last.counter is None or last.value == 3


@pytest.mark.parametrize(
    ("tier", "expected"), [(Tier.LIGHT, [1] * 46), (Tier.BULK, [1, 1, 2, 4, 8, 9, 9, 9])]
)
def test_bulk_segments_that_come_one_by_one_join_together_where_joins_take_long(
    tier: Tier, expected: list[int]
) -> None:
    """As many as run, or after eight steps and a turn of the encoder; light segments join at once."""
    replica = Replica(encode, open_any, replace(CAPACITY, max_sources=100, bulk_join_steps=8))
    waiting: list[SegmentRequest] = []
    joined: list[int] = []
    for number in range(46):
        waiting.append(long_request((number % 10,), 1000, KINDS[0], tier))
        if replica.wants_more(tier, len(waiting)):
            replica.join(waiting)
            joined.append(len(waiting))
            waiting.clear()
        replica.step()

    assert joined == expected


def test_a_gpu_encodes_bulk_in_one_batch_after_a_few_steps_of_light_segments() -> None:
    """There, encoding many tokens, of whatever lengths, takes no longer than several steps of a few rows."""
    encoded: list[int] = []

    def count(sources: Sequence[Sequence[int]]) -> list[int]:
        encoded.append(len(sources))
        return encode(sources)

    replica = Replica(count, open_any, GPU_CAPACITY)
    widths = (GPU_CAPACITY.encoder_tokens // GPU_CAPACITY.max_sources, 8)
    for tier, num_sources in ((Tier.LIGHT, 1), (Tier.BULK, GPU_CAPACITY.max_sources)):
        replica.join(
            [long_request((5,) * widths[number % 2], 1000, KINDS[0], tier) for number in range(num_sources)]
        )
    for _ in range(1 + 30):
        replica.step()

    assert encoded == [1, GPU_CAPACITY.max_sources]
