"""Engines without a model, for the scheduler: they translate by table and fail on purpose."""

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dragoman.decoding.loop import Lane, open_strategy
from dragoman.decoding.strategy import TargetLimits, TargetVocabulary
from dragoman.scheduling.deadline import Deadline
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.scheduling.policy import LIGHT_TOKENS, Capacity
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.types import Hypothesis, Priority, SearchKind
from tests.engine.decoding.fake_stepper import BOS, EOS, Candidates, FakeStepper, Ids, RandomModel
from tests.engine.routing.doubles import until

MODEL = RandomModel(vocab_size=9, seed=3)
ENDLESS = 10_000
"""Tokens of a source that does not end while a test lasts."""
TIMEOUT_S = 60
CAPACITY_ROWS = 40


class Engine:
    """Encoder and lanes over a random model. Source i is the list [i]."""

    def __init__(self) -> None:
        self.encoded: list[list[int]] = []
        """Sources of each call."""
        self.threads: set[int] = set()
        self.num_rows: list[int] = []
        """Of each step of any lane."""
        self.turns: list[tuple[str, list[int]]] = []
        """What was done, `encode` or `step`, and for which sources."""
        self.unencodable: set[int] = set()
        self.undecodable: set[int] = set()
        """A step with one of these among its rows raises, once it has read two tokens."""
        self.gate = threading.Event()
        """Steps wait for it."""
        self.gate.set()

    def encode(self, sources: Sequence[Sequence[int]]) -> list[int]:
        numbers = [source[0] for source in sources]
        self.encoded.append(numbers)
        self.turns.append(("encode", numbers))
        if self.unencodable.intersection(numbers):
            raise RuntimeError("an id is not in the vocabulary")
        return numbers

    def open_lane(self, kind: SearchKind) -> Lane[list[int]]:
        target = TargetVocabulary(EOS, MODEL.vocab_size)
        return Lane(kind, _Stepper(self, kind.beam_size), open_strategy(kind.beam_size, target))


class _Stepper(FakeStepper):
    def __init__(self, engine: Engine, beam_size: int) -> None:
        super().__init__(MODEL, [], beam_size)
        self.engine = engine

    def step(self, last_ids: Ids, num_best: int) -> Candidates:
        assert self.engine.gate.wait(TIMEOUT_S)
        self.engine.threads.add(threading.get_ident())
        self.engine.num_rows.append(len(self.rows))
        self.engine.turns.append(("step", [source for source, _ in self.rows]))
        for source, prefix in self.rows:
            if source in self.engine.undecodable and len(prefix or ()) == 2:
                raise RuntimeError("the step failed")
        # An endless prefix would fill the model's memory, and every token but the first tells rows apart.
        self.rows = [(source, prefix and prefix[-3:]) for source, prefix in self.rows]
        return super().step(last_ids, num_best)


class AwaitedSegment:
    """A segment request whose outcome can be awaited."""

    def __init__(
        self, number: int, *, max_tokens: int = 8, beam_size: int = 1, timeout_s: float = math.inf
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.is_done = threading.Event()
        limits = TargetLimits(max_tokens, max_tokens if max_tokens == ENDLESS else number % 3)
        self.request = SegmentRequest(
            ids=(number,),
            limits=limits,
            begin=(BOS,),
            num_hypotheses=beam_size,
            kind=SearchKind(beam_size),
            on_done=self._receive,
            deadline=Deadline.after(timeout_s),
        )

    def _receive(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.is_done.set()

    def result(self) -> Outcome:
        assert self.is_done.wait(TIMEOUT_S), "no outcome came"
        (outcome,) = self.outcomes
        return outcome


def alone(requested: AwaitedSegment) -> list[Hypothesis]:
    """What a source gives without any scheduler."""
    engine = Engine()
    lane = engine.open_lane(requested.request.kind)
    lane.join([requested.request], engine.encode([requested.request.ids]))
    while True:
        for found in lane.step():
            return found.hypotheses


@contextmanager
def scheduling(
    engine: Engine,
    *,
    replicas: int = 1,
    queue_size: int = 1000,
    max_sources: int = 8,
    bulk_join_steps: int = 0,
    metrics: EngineMetrics = NO_METRICS,
) -> Iterator[Scheduler[list[int]]]:
    capacity = Capacity(CAPACITY_ROWS, max_sources, budget_tokens=1000, bulk_join_steps=bulk_join_steps)
    options = SchedulerOptions(replicas, queue_size, capacity, metrics)
    scheduler = Scheduler(engine.encode, engine.open_lane, options)
    try:
        yield scheduler
    finally:
        engine.gate.set()
        scheduler.close()


@contextmanager
def queueing(
    queue_size: int, metrics: EngineMetrics = NO_METRICS
) -> Iterator[tuple[Engine, Scheduler[list[int]]]]:
    """Let one source run that holds all places until the engine's gate is set, so that others wait."""
    engine = Engine()
    engine.gate.clear()
    with scheduling(engine, queue_size=queue_size, max_sources=1, metrics=metrics) as scheduler:
        submit(scheduler, [AwaitedSegment(0)])
        until(lambda: scheduler.queue().num_running == 1)
        yield engine, scheduler


def submit(scheduler: Scheduler[list[int]], requested: Sequence[AwaitedSegment]) -> None:
    scheduler.submit(one_request(requested))


def one_request(requested: Sequence[AwaitedSegment]) -> list[SegmentRequest]:
    """Return segments as those of one request."""
    for one in requested:
        one.request.flow = requested[0].request.flow
    return [one.request for one in requested]


def outcomes_of(scheduler: Scheduler[list[int]], requested: Sequence[AwaitedSegment]) -> list[Outcome]:
    submit(scheduler, requested)
    return [one.result() for one in requested]


def endless(count: int, first: int = 0, priority: Priority = Priority.INTERACTIVE) -> list[AwaitedSegment]:
    """Segments that do not end while a test lasts."""
    requested = [AwaitedSegment(number, max_tokens=ENDLESS) for number in range(first, first + count)]
    for one in requested:
        one.request.priority = priority
        if priority is Priority.JOB:  # large ones, whose first texts have come before
            one.request.flow.num_tokens = LIGHT_TOKENS
    return requested
