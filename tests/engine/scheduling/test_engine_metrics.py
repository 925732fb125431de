"""Metrics are notified of everything that becomes of a source, once, and before its caller is."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import pytest

from dragoman import Router, Translator, TranslatorOptions
from dragoman.errors import Overloaded
from dragoman.scheduling.metrics import EngineMetrics, QueueState, SegmentOutcome, SegmentRecord, add_queues
from dragoman.scheduling.scheduler import Scheduler
from dragoman.types import Method, Pair, SearchKind
from tests.engine.routing.doubles import until
from tests.engine.scheduling.doubles import (
    CAPACITY_ROWS,
    ENDLESS,
    TIMEOUT_S,
    AwaitedSegment,
    Engine,
    alone,
    one_request,
    outcomes_of,
    queueing,
    scheduling,
    submit,
)
from tests.paths import TINY

BUNDLE = TINY / "bundle-int8"
CALLER: ContextVar[str] = ContextVar("CALLER", default="nobody")


class Notes(EngineMetrics):
    """Remembers every notification."""

    def __init__(self) -> None:
        self.waited_s: list[tuple[SearchKind, float]] = []
        self.began_s: list[float] = []
        self.steps: list[tuple[int, int, int, float]] = []
        self.records: list[SegmentRecord] = []
        self.num_rejected = 0
        self.num_cached = 0

    def trace_context(self) -> object:
        return CALLER.get()

    def segments_joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        self.waited_s += [(kind, waited) for waited in waited_s]

    def first_token(self, after_s: Sequence[float]) -> None:
        self.began_s += after_s

    def step_done(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        self.steps.append((num_rows, num_sources, capacity_rows, duration_s))

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        self.records += records

    def rejected(self, num_sources: int) -> None:
        self.num_rejected += num_sources

    def cache_hit(self) -> None:
        self.num_cached += 1

    @property
    def endings(self) -> list[SegmentOutcome]:
        return [record.ending for record in self.records]


@pytest.fixture
def notes() -> Notes:
    return Notes()


def test_both_readings_of_a_segment_are_submitted_together(notes: Notes) -> None:
    """What follows another search has no caller."""
    with Translator.open("de-en", engine_metrics=notes) as translator:
        translator.submit("DER HUND schläft.").result(TIMEOUT_S)

    assert [record.mark for record in notes.records] == ["nobody", "nobody"]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_source_is_reported_from_its_arrival_to_its_end(notes: Notes, beam_size: int) -> None:
    requested = AwaitedSegment(4, beam_size=beam_size)
    (best, *_) = alone(requested)
    began_s = time.monotonic()
    with scheduling(Engine(), metrics=notes) as scheduler:
        outcomes_of(scheduler, [requested])

        (record,) = notes.records  # its caller, who has just been notified, finds it here
    assert (record.kind, record.ending) == (SearchKind(beam_size), SegmentOutcome.DONE)
    assert record.num_source_tokens == 1
    assert (record.num_target_tokens, record.finish_reason) == (best.num_tokens, best.finish_reason)
    assert record.joined_s is not None
    assert began_s <= record.queued_s <= record.joined_s <= record.left_s
    waited_s = record.joined_s - record.queued_s
    assert notes.waited_s == [(record.kind, waited_s)]
    (first_token_s,) = notes.began_s
    assert first_token_s >= waited_s
    assert {step[:3] for step in notes.steps} == {(beam_size, 1, CAPACITY_ROWS)}
    assert all(duration_s > 0 for *_, duration_s in notes.steps)


def test_a_step_is_reported_once_with_the_rows_of_all_its_lanes(notes: Notes) -> None:
    requested = [
        AwaitedSegment(number, beam_size=size, max_tokens=ENDLESS) for number, size in enumerate((1, 1, 3))
    ]
    with scheduling(Engine(), metrics=notes) as scheduler:
        submit(scheduler, requested)
        until(lambda: len(notes.steps) > 2)
        steps = list(notes.steps)

    assert {step[:2] for step in steps} == {(5, 3)}
    assert len(notes.began_s) == 3


def test_rejected_sources_are_counted_and_a_full_queue_is_named(notes: Notes) -> None:
    with queueing(2, notes) as (_, scheduler):
        scheduler.enqueue(one_request([*map(AwaitedSegment, range(9))]))  # a list does not fill it
        submit(scheduler, [AwaitedSegment(1)])
        with pytest.raises(Overloaded):
            submit(scheduler, [AwaitedSegment(number) for number in (2, 3, 4)])

        assert notes.num_rejected == 3
        assert scheduler.queue() == QueueState(num_waiting=1, queue_size=2, num_running=1)
        submit(scheduler, [AwaitedSegment(5)])
        assert scheduler.queue().num_waiting == scheduler.queue().queue_size


def _wait(scheduler: Scheduler[list[int]], requested: AwaitedSegment) -> None:
    _run(scheduler, AwaitedSegment(0, max_tokens=ENDLESS))
    submit(scheduler, [requested])


def _run(scheduler: Scheduler[list[int]], requested: AwaitedSegment) -> None:
    submit(scheduler, [requested])
    until(lambda: scheduler.queue().num_running == 1)


@pytest.mark.parametrize("begin", [_wait, _run])
@pytest.mark.parametrize("ending", [SegmentOutcome.CANCELLED, SegmentOutcome.EXPIRED])
def test_cancelled_sources_count_as_cancelled_and_late_ones_as_expired(
    notes: Notes, begin: Callable[[Scheduler[list[int]], AwaitedSegment], None], ending: SegmentOutcome
) -> None:
    is_late = ending is SegmentOutcome.EXPIRED
    requested = AwaitedSegment(5, max_tokens=ENDLESS, timeout_s=0.2 if is_late else math.inf)
    with scheduling(Engine(), max_sources=1, metrics=notes) as scheduler:
        begin(scheduler, requested)
        if not is_late:
            scheduler.cancel([requested.request])
        until(lambda: bool(notes.records))

        assert notes.endings == [ending]
        assert is_late or (notes.records[0].joined_s is None) is (begin is _wait)


def test_a_source_that_the_engine_cannot_search_counts_as_failed_only(notes: Notes) -> None:
    engine = Engine()
    engine.unencodable, engine.undecodable = {5}, {7}
    with scheduling(engine, metrics=notes) as scheduler:
        outcomes = outcomes_of(scheduler, [AwaitedSegment(number) for number in (4, 5, 6, 7)])

    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, True, False, True]
    assert Counter(notes.endings) == {SegmentOutcome.DONE: 2, SegmentOutcome.FAILED: 2}
    assert len(notes.waited_s) == 4  # not again, for those that began again after the failed step


def test_a_cancellation_that_comes_after_the_end_is_none(notes: Notes) -> None:
    requested = AwaitedSegment(1)
    with scheduling(Engine(), metrics=notes) as scheduler:
        outcomes_of(scheduler, [requested])
        scheduler.cancel([requested.request])

    assert notes.endings == [SegmentOutcome.DONE]


def test_segments_unfinished_at_closing_count_as_failed(notes: Notes) -> None:
    with scheduling(Engine(), max_sources=1, metrics=notes) as scheduler:
        _wait(scheduler, AwaitedSegment(1))

    assert notes.endings == [SegmentOutcome.FAILED, SegmentOutcome.FAILED]


def test_every_source_is_reported_once_in_company(notes: Notes) -> None:
    requested = [AwaitedSegment(number, beam_size=(1, 3)[number % 2]) for number in range(60)]
    with scheduling(Engine(), max_sources=5, metrics=notes) as scheduler:
        for one in requested:
            submit(scheduler, [one])
        outcomes = [one.result() for one in requested]

    assert notes.endings == [SegmentOutcome.DONE] * 60
    assert len(notes.waited_s) == len(notes.began_s) == 60
    found = [outcome[0].num_tokens for outcome in outcomes if isinstance(outcome, list)]
    assert sorted(record.num_target_tokens for record in notes.records) == sorted(found)


def test_a_source_has_the_mark_of_its_callers_context(notes: Notes) -> None:
    with scheduling(Engine(), metrics=notes) as scheduler:
        for name in ("one", "another"):
            CALLER.set(name)
            outcomes_of(scheduler, [AwaitedSegment(1)])

    assert [record.mark for record in notes.records] == ["one", "another"]


def test_a_translator_reports_to_its_metrics_with_its_queue(notes: Notes) -> None:
    with Translator.open(
        BUNDLE, replicas=1, queue_size=7, segment_cache_size=4, engine_metrics=notes
    ) as translator:
        (segment,) = translator.submit("ab cd").result(TIMEOUT_S).segments
        translator.submit("ab cd").result(TIMEOUT_S)

        assert translator.queue() == QueueState(0, 7, 0)
    (record,) = notes.records
    assert record.num_source_tokens == segment.num_source_tokens
    assert record.num_target_tokens == segment.num_target_tokens
    assert record.kind.method is Method.SEARCH
    assert notes.num_cached == 1


def test_all_translators_of_a_router_notify_the_same_metrics_and_their_queues_add_up(notes: Notes) -> None:
    translators = TranslatorOptions(replicas=1, queue_size=7, engine_metrics=notes)
    with Router.open({"a": BUNDLE, "b": BUNDLE}, translators=translators) as router:
        assert router.queue() == QueueState(0, 0, 0)
        pair = Pair(*next(router.offers()[0].languages.pairs()))
        CALLER.set("me")
        for model in ("a", "b"):
            router.translate("ab cd", *pair, model=model)

        assert router.queue() == QueueState(0, 14, 0)
        assert add_queues([QueueState(1, 10, 2), QueueState(3, 20, 4)]) == QueueState(4, 30, 6)
        assert router.used_bytes > 0
    # Though the text waited for its bundle to be opened and then was taken apart on another thread.
    assert [record.mark for record in notes.records] == ["me", "me"]


def test_no_lock_is_held_while_metrics_are_called() -> None:
    """They may look at the queue, on any thread."""
    seen: list[QueueState] = []
    scheduler: Scheduler[list[int]]

    class Looking(Notes):
        def segments_left(self, records: Sequence[SegmentRecord]) -> None:
            super().segments_left(records)
            looking = threading.Thread(target=lambda: seen.append(scheduler.queue()))
            looking.start()
            looking.join(TIMEOUT_S)

    looking = Looking()
    with scheduling(Engine(), max_sources=1, metrics=looking) as scheduler:
        waiting = AwaitedSegment(5)
        _wait(scheduler, waiting)
        scheduler.cancel([waiting.request])

        assert len(seen) == 1
    assert len(seen) == 2
