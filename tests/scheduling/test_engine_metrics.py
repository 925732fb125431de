"""A meter is told of everything that becomes of a source, once, and before its caller is."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import pytest

from dragoman import Router, Translator, TranslatorOptions
from dragoman.errors import Overloaded
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.scheduling.metrics import NoMetrics, QueueState, SegmentOutcome, SegmentRecord, add_queues
from dragoman.scheduling.policy import Capacity
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
from dragoman.types import FinishReason, Hypothesis, Method, Pair, SearchKind
from tests.scheduling.doubles import ENDLESS, TIMEOUT_S, AwaitedSegment, Engine, alone, until

TINY = Path(__file__).parents[1] / "tiny" / "bundle-int8"
CALLER: ContextVar[str] = ContextVar("CALLER", default="nobody")
CAPACITY_ROWS = 40


class Notes(NoMetrics):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.waited_s: list[tuple[SearchKind, float]] = []
        self.began_s: list[float] = []
        self.steps: list[tuple[int, int, int, float]] = []
        self.passages: list[SegmentRecord] = []
        self.num_refused = 0
        self.num_recalled = 0

    def trace_context(self) -> object:
        return CALLER.get()

    def segments_joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        self.waited_s += [(kind, waited) for waited in waited_s]

    def first_token(self, after_s: Sequence[float]) -> None:
        self.began_s += after_s

    def step_done(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        self.steps.append((num_rows, num_sources, capacity_rows, duration_s))

    def segments_left(self, passages: Sequence[SegmentRecord]) -> None:
        self.passages += passages

    def rejected(self, num_sources: int) -> None:
        self.num_refused += num_sources

    def cache_hit(self) -> None:
        self.num_recalled += 1

    @property
    def endings(self) -> list[SegmentOutcome]:
        return [passage.ending for passage in self.passages]


@pytest.fixture
def notes() -> Notes:
    return Notes()


@contextmanager
def noting(
    notes: Notes, engine: Engine, *, queue_size: int = 1000, max_sources: int = 8
) -> Iterator[Scheduler[list[int]]]:
    capacity = Capacity(max_rows=CAPACITY_ROWS, max_sources=max_sources, budget_tokens=1000)
    options = SchedulerOptions(1, queue_size, capacity, notes)
    scheduler = Scheduler(engine.encode, engine.open_lane, options)
    try:
        yield scheduler
    finally:
        engine.gate.set()
        scheduler.close()


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_source_is_told_of_from_its_arrival_to_its_end(notes: Notes, beam_size: int) -> None:
    asked = AwaitedSegment(4, beam_size=beam_size)
    (best, *_) = alone(asked)
    began_s = time.monotonic()
    with noting(notes, Engine()) as scheduler:
        scheduler.submit([asked.request])
        asked.result()

        (passage,) = notes.passages  # its caller, who has just been told, finds it here
    assert (passage.kind, passage.ending) == (SearchKind(beam_size), SegmentOutcome.DONE)
    assert passage.num_source_tokens == 1
    assert (passage.num_target_tokens, passage.finish_reason) == (best.num_tokens, best.finish_reason)
    assert passage.joined_s is not None
    assert began_s <= passage.queued_s <= passage.joined_s <= passage.left_s
    ((kind, waited_s),) = notes.waited_s
    assert kind == passage.kind
    assert waited_s == pytest.approx(passage.joined_s - passage.queued_s)
    assert len(notes.began_s) == 1
    assert notes.began_s[0] >= waited_s
    assert {step[:3] for step in notes.steps} == {(beam_size, 1, CAPACITY_ROWS)}
    assert all(duration_s > 0 for *_, duration_s in notes.steps)


def test_a_step_is_told_once_with_the_rows_of_all_its_lanes(notes: Notes) -> None:
    engine = Engine()
    asked = [
        AwaitedSegment(number, beam_size=size, max_tokens=ENDLESS) for number, size in enumerate((1, 1, 3))
    ]
    with noting(notes, engine) as scheduler:
        scheduler.submit([one.request for one in asked])
        until(lambda: len(notes.steps) > 2)
        steps = list(notes.steps)

    assert {step[:2] for step in steps} == {(5, 3)}
    assert len(notes.began_s) == 3


def test_what_is_not_let_in_is_told_as_refused(notes: Notes) -> None:
    engine = Engine()
    engine.gate.clear()
    with noting(notes, engine, queue_size=2, max_sources=1) as scheduler:
        first = AwaitedSegment(0)
        scheduler.submit([first.request])
        until(lambda: scheduler.queue().num_running == 1)
        scheduler.submit([AwaitedSegment(1).request])
        with pytest.raises(Overloaded):
            scheduler.submit([AwaitedSegment(number).request for number in (2, 3, 4)])

        assert notes.num_refused == 3
        assert scheduler.queue() == QueueState(num_waiting=1, queue_size=2, num_running=1)


def test_a_full_queue_says_so(notes: Notes) -> None:
    engine = Engine()
    engine.gate.clear()
    with noting(notes, engine, queue_size=2, max_sources=1) as scheduler:
        scheduler.submit([AwaitedSegment(0).request])
        until(lambda: scheduler.queue().num_running == 1)
        assert not scheduler.queue().is_full

        scheduler.submit([AwaitedSegment(1).request, AwaitedSegment(2).request])

        assert scheduler.queue().is_full


def test_sources_of_a_list_do_not_fill_the_queue(notes: Notes) -> None:
    engine = Engine()
    engine.gate.clear()
    with noting(notes, engine, queue_size=1, max_sources=1) as scheduler:
        scheduler.enqueue([AwaitedSegment(number).request for number in range(9)])
        until(lambda: scheduler.queue().num_running == 1)

        assert scheduler.queue() == QueueState(num_waiting=0, queue_size=1, num_running=1)


def _wait(scheduler: Scheduler[list[int]], asked: AwaitedSegment) -> None:
    running = AwaitedSegment(0, max_tokens=ENDLESS)
    scheduler.submit([running.request])
    until(lambda: scheduler.queue().num_running == 1)
    scheduler.submit([asked.request])


def _run(scheduler: Scheduler[list[int]], asked: AwaitedSegment) -> None:
    scheduler.submit([asked.request])
    until(lambda: scheduler.queue().num_running == 1)


@pytest.mark.parametrize("begin", [_wait, _run])
def test_what_is_given_up_is_told_as_cancelled(
    notes: Notes, begin: Callable[[Scheduler[list[int]], AwaitedSegment], None]
) -> None:
    with noting(notes, Engine(), max_sources=1) as scheduler:
        asked = AwaitedSegment(5, max_tokens=ENDLESS)
        begin(scheduler, asked)
        scheduler.cancel([asked.request])
        until(lambda: bool(notes.passages))

        assert notes.endings == [SegmentOutcome.CANCELLED]
        assert (notes.passages[0].joined_s is None) is (begin is _wait)


@pytest.mark.parametrize("begin", [_wait, _run])
def test_what_was_late_is_told_as_expired(
    notes: Notes, begin: Callable[[Scheduler[list[int]], AwaitedSegment], None]
) -> None:
    with noting(notes, Engine(), max_sources=1) as scheduler:
        asked = AwaitedSegment(5, max_tokens=ENDLESS, timeout_s=0.2)
        begin(scheduler, asked)
        asked.result()

        assert notes.endings == [SegmentOutcome.EXPIRED]


def test_what_the_engine_cannot_do_is_told_as_failed_and_nothing_beside_it(notes: Notes) -> None:
    engine = Engine()
    engine.unencodable, engine.undecodable = {5}, {7}
    asked = [AwaitedSegment(number) for number in (4, 5, 6, 7)]
    with noting(notes, engine) as scheduler:
        scheduler.submit([one.request for one in asked])
        outcomes = [one.result() for one in asked]

    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, True, False, True]
    assert sorted(notes.endings) == [
        SegmentOutcome.DONE,
        SegmentOutcome.DONE,
        SegmentOutcome.FAILED,
        SegmentOutcome.FAILED,
    ]
    assert len(notes.waited_s) == 4  # not again, for those that began again after the failed step


def test_a_cancellation_that_comes_after_the_end_is_none(notes: Notes) -> None:
    with noting(notes, Engine()) as scheduler:
        asked = AwaitedSegment(1)
        scheduler.submit([asked.request])
        asked.result()
        scheduler.cancel([asked.request])

    assert notes.endings == [SegmentOutcome.DONE]


def test_what_is_under_way_when_all_closes_has_failed(notes: Notes) -> None:
    with noting(notes, Engine(), max_sources=1) as scheduler:
        _run(scheduler, AwaitedSegment(0, max_tokens=ENDLESS))
        scheduler.submit([AwaitedSegment(1).request])

    assert notes.endings == [SegmentOutcome.FAILED, SegmentOutcome.FAILED]


def test_every_source_is_told_of_once_in_company(notes: Notes) -> None:
    asked = [AwaitedSegment(number, beam_size=(1, 3)[number % 2]) for number in range(60)]
    with noting(notes, Engine(), max_sources=5) as scheduler:
        for one in asked:
            scheduler.submit([one.request])
        outcomes = [one.result() for one in asked]

    assert notes.endings == [SegmentOutcome.DONE] * 60
    assert len(notes.waited_s) == len(notes.began_s) == 60
    found = [outcome[0].num_tokens for outcome in outcomes if isinstance(outcome, list)]
    assert sorted(passage.num_target_tokens for passage in notes.passages) == sorted(found)


def test_a_source_has_the_mark_of_its_callers_context(notes: Notes) -> None:
    with noting(notes, Engine()) as scheduler:
        for name in ("one", "another"):
            CALLER.set(name)
            asked = AwaitedSegment(1)
            scheduler.submit([asked.request])
            asked.result()

    assert [passage.mark for passage in notes.passages] == ["one", "another"]


def test_what_is_remembered_is_told_as_recalled(notes: Notes) -> None:
    recall = SegmentCache(4, notes)
    request = AwaitedSegment(1).request
    assert recall.find(request.source, request.kind) is None
    hypothesis = Hypothesis((4,), -1.0, 2, -0.5, FinishReason.STOP)
    recall.storing(request.source, request.kind, lambda _: None)([hypothesis])

    assert recall.find(request.source, request.kind) == [hypothesis]
    assert notes.num_recalled == 1


def test_a_translator_tells_its_meter_and_its_queue(notes: Notes) -> None:
    with Translator.open(
        TINY, replicas=1, queue_size=7, segment_cache_size=4, engine_metrics=notes
    ) as translator:
        translation = translator.submit("ab cd").result(TIMEOUT_S)
        translator.submit("ab cd").result(TIMEOUT_S)

        assert translator.queue() == QueueState(0, 7, 0)
    (segment,) = translation.segments
    (passage,) = notes.passages
    assert passage.num_source_tokens == segment.num_source_tokens
    assert passage.num_target_tokens == segment.num_target_tokens
    assert passage.kind.method is Method.SEARCH
    assert notes.num_recalled == 1


def test_all_translators_of_a_router_tell_one_meter_and_their_queues_add_up(notes: Notes) -> None:
    translators = TranslatorOptions(replicas=1, queue_size=7, engine_metrics=notes)
    with Router.open({"a": TINY, "b": TINY}, translators=translators) as router:
        assert router.queue() == QueueState(0, 0, 0)
        assert not router.queue().is_full
        pair = Pair(*next(router.offers()[0].languages.pairs()))
        CALLER.set("me")
        for model in ("a", "b"):
            router.translate("ab cd", *pair, model=model)

        assert router.queue() == QueueState(0, 14, 0)
        assert router.used_bytes > 0
    # Though the text waited for its bundle to be opened and then was taken apart on another thread.
    assert [passage.mark for passage in notes.passages] == ["me", "me"]


def test_queues_add_up() -> None:
    assert add_queues([QueueState(1, 10, 2), QueueState(3, 20, 4)]) == QueueState(4, 30, 6)


def test_no_lock_is_held_while_a_meter_is_told() -> None:
    """It may look at the queue, on whatever thread it is told."""
    seen: list[QueueState] = []
    scheduler: Scheduler[list[int]]

    class Looking(Notes):
        def segments_left(self, passages: Sequence[SegmentRecord]) -> None:
            super().segments_left(passages)
            looking = threading.Thread(target=lambda: seen.append(scheduler.queue()))
            looking.start()
            looking.join(TIMEOUT_S)

    looking = Looking()
    with noting(looking, Engine(), max_sources=1) as scheduler:
        waiting = AwaitedSegment(5)
        _wait(scheduler, waiting)
        scheduler.cancel([waiting.request])

        assert len(seen) == 1
    assert len(seen) == 2
