"""One replica searches, samples and reads at the same time, each in a lane of its own."""

from collections.abc import Sequence
from functools import partial

from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.scheduling.policy import Capacity
from dragoman.scheduling.replica import Replica
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.types import Method, Priority, SearchKind
from tests.decoding.fake_lanes import facts
from tests.decoding.fake_stepper import BOS, EOS, FakeReadingStepper, Ids, Logprobs
from tests.scheduling.doubles import MODEL

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


def source_of(number: int, kind: SearchKind) -> Source:
    return Source(
        (number,),
        TargetLimits(6 + number % 3, number % 3),
        (BOS,),
        num_hypotheses=kind.beam_size,
        repetition_penalty=1.5,
        sampling=Sampling(top_k=3),
        seed=number,
        target_ids=(3, 4, 5)[: number % 4],
    )


def outcomes_of(requests: list[tuple[int, SearchKind]]) -> list[Outcome]:
    replica = Replica(encode, open_any, CAPACITY)
    outcomes: dict[int, Outcome] = {}
    replica.join(
        [
            SegmentRequest(source_of(number, kind), kind, Priority.JOB, partial(outcomes.__setitem__, number))
            for number, kind in requests
        ]
    )
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
