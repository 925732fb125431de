"""Counts add up, whichever threads counted and whether they still run."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from dragoman.scheduling.metrics import SegmentOutcome, SegmentRecord
from dragoman.types import FinishReason, Method, SearchKind
from service.telemetry.counters import EngineMetricsCollector, Histogram, LabeledCounter

BOUNDS = (1.0, 2.0, 5.0)
VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 5.0, 5.5, 100.0]), max_size=30)


def distribution(values: list[float]) -> Histogram:
    made = Histogram(BOUNDS)
    for value in values:
        made.add(value)
    return made


@given(VALUES)
def test_a_bucket_counts_all_values_that_are_no_larger_than_its_bound(values: list[float]) -> None:
    ordered = sorted(values)
    expected = {str(bound): sum(value <= bound for value in ordered) for bound in BOUNDS}

    assert dict(distribution(values).buckets()) == expected | {"+Inf": len(values)}
    assert distribution(values).total == sum(values)


@given(VALUES, VALUES)
def test_distributions_add_up(some: list[float], others: list[float]) -> None:
    both = distribution(some)
    both.merge(distribution(others))

    assert both.buckets() == distribution(some + others).buckets()
    assert both.total == sum(some) + sum(others)


def test_counts_add_up() -> None:
    counts, others = LabeledCounter(), LabeledCounter()
    counts.add("a", "b")
    others.add("a", "b", amount=2)
    others.add("c", "d")
    counts.merge(others)

    assert counts.by_labels == {("a", "b"): 3, ("c", "d"): 1}


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_only_the_counts_of_a_thread_outlive_it() -> None:
    engine_metrics = EngineMetricsCollector()
    for _ in range(50):
        in_a_thread(engine_metrics.cache_hit)
        in_a_thread(lambda: engine_metrics.step_done(3, 2, 10, 0.001))

    total = engine_metrics.total()
    assert (total.cache_hit, total.capacity_row_steps) == (50, 500)
    assert total.step_rows.total == 150
    assert total.step_rows.buckets()[-1] == ("+Inf", 50)
    in_a_thread(engine_metrics.cache_hit)
    assert len(engine_metrics._by_thread) <= 1  # though nobody has asked in the meantime


def test_counts_of_concurrent_threads_are_all_kept() -> None:
    engine_metrics = EngineMetricsCollector()

    def reject() -> None:
        for _ in range(1000):
            engine_metrics.rejected(2)

    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(reject)
        engine_metrics.total()  # while they count

    assert engine_metrics.total().refused == 8000


def passage(method: Method, ending: SegmentOutcome, reason: FinishReason | None) -> SegmentRecord:
    return SegmentRecord(SearchKind(1, method=method), ending, 1.0, 2.0, 3.0, 10, 20, reason)


def test_tokens_are_those_of_translations_that_were_found() -> None:
    engine_metrics = EngineMetricsCollector()
    engine_metrics.segments_left(
        [
            passage(Method.SEARCH, SegmentOutcome.DONE, FinishReason.STOP),
            passage(Method.SAMPLE, SegmentOutcome.DONE, FinishReason.LENGTH),
            passage(Method.SCORE, SegmentOutcome.DONE, FinishReason.STOP),  # a target that was given
            passage(Method.SEARCH, SegmentOutcome.CANCELLED, None),
        ]
    )

    total = engine_metrics.total()
    assert (total.source_tokens, total.target_tokens) == (20, 40)
    assert total.finished.by_labels == {("stop",): 1, ("length",): 1}
    assert total.segments.by_labels == {
        ("search", "done"): 1,
        ("sample", "done"): 1,
        ("score", "done"): 1,
        ("search", "cancelled"): 1,
    }


def test_waits_of_alignment_are_not_queue_time() -> None:
    engine_metrics = EngineMetricsCollector()
    engine_metrics.segments_joined(SearchKind(1, method=Method.ALIGN), [0.5])
    assert engine_metrics.total().queue_s.total == 0

    engine_metrics.segments_joined(SearchKind(4), [0.5, 0.25])
    assert engine_metrics.total().queue_s.total == 0.75
