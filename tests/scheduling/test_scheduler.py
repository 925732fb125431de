"""The engine's threads: right results whatever happens beside them, and nobody left waiting."""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.errors import DeadlineExceeded, Overloaded, TranslatorClosed
from dragoman.scheduling import scheduler as scheduler_module
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.replica import SegmentRequest
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
from dragoman.types import Priority
from tests.scheduling.doubles import ENDLESS, AwaitedSegment, Engine, alone, scheduling, until

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("replicas", [1, 3])
def test_every_source_gets_what_it_gets_alone(replicas: int) -> None:
    asked = [AwaitedSegment(number, beam_size=(1, 3)[number % 2]) for number in range(60)]

    with scheduling(Engine(), replicas=replicas) as scheduler:
        for one in asked:
            scheduler.submit([one.request])
        outcomes = [one.result() for one in asked]

    assert outcomes == [alone(one) for one in asked]


def test_a_source_joins_while_another_runs() -> None:
    endless, short = AwaitedSegment(0, max_tokens=ENDLESS), AwaitedSegment(1)
    engine = Engine()
    with scheduling(engine) as scheduler:
        scheduler.submit([endless.request])
        until(lambda: bool(engine.num_rows))
        scheduler.submit([short.request])

        assert short.result() == alone(short)
        assert 2 in engine.num_rows
        assert not endless.is_done.is_set()


def jobs_of(count: int) -> list[AwaitedSegment]:
    asked = [AwaitedSegment(number, max_tokens=ENDLESS) for number in range(10, 10 + count)]
    for one in asked:
        one.request.priority = Priority.JOB
    return asked


def test_jobs_make_room_while_others_wait_for_their_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "RECENT_S", 0.0)
    engine, interactive, jobs = Engine(), AwaitedSegment(0, max_tokens=ENDLESS), jobs_of(6)
    with scheduling(engine) as scheduler:
        scheduler.submit([interactive.request])
        until(lambda: bool(engine.num_rows))
        scheduler.submit([job.request for job in jobs])
        until(lambda: len(engine.encoded) == 2 and len(engine.num_rows) > 200)
        assert max(engine.num_rows) == 1

        scheduler.cancel([interactive.request])
        until(lambda: engine.num_rows[-1] == 6)


def test_jobs_make_room_for_those_who_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "RECENT_S", 3600.0)
    engine, interactive, jobs = Engine(), AwaitedSegment(0), jobs_of(6)
    with scheduling(engine) as scheduler:
        scheduler.submit([interactive.request])
        interactive.result()
        engine.num_rows.clear()
        scheduler.submit([job.request for job in jobs])
        until(lambda: len(engine.num_rows) > 50)
        assert max(engine.num_rows) == 1


def test_replicas_share_what_waits() -> None:
    engine = Engine()
    asked = [AwaitedSegment(number, max_tokens=ENDLESS) for number in range(6)]
    with scheduling(engine, replicas=3) as scheduler:
        scheduler.submit([one.request for one in asked])

        until(lambda: len(engine.threads) == 3)
        until(lambda: sorted(map(len, engine.encoded)) == [2, 2, 2])


def test_no_more_runs_than_there_is_room_for() -> None:
    engine = Engine()
    asked = [AwaitedSegment(number) for number in range(100)]
    with scheduling(engine, max_sources=5) as scheduler:
        scheduler.submit([one.request for one in asked])
        for one in asked:
            one.result()

    assert max(engine.num_rows) == 5


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_failing_step_fails_only_the_source_at_fault(beam_size: int) -> None:
    engine = Engine()
    engine.undecodable = {3}
    asked = [AwaitedSegment(number, max_tokens=8, beam_size=beam_size) for number in range(7)]
    asked[3] = AwaitedSegment(3, max_tokens=ENDLESS, beam_size=beam_size)
    with scheduling(engine) as scheduler:
        scheduler.submit([one.request for one in asked])
        outcomes = [one.result() for one in asked]
        again = AwaitedSegment(9, beam_size=beam_size)
        scheduler.submit([again.request])
        assert again.result() == alone(again), "the replica lives on"

    assert isinstance(outcomes[3], RuntimeError)
    assert str(outcomes[3]) == "the step failed"
    for one, outcome in zip(asked, outcomes, strict=True):
        assert one is asked[3] or outcome == alone(one)


def test_a_source_that_cannot_be_encoded_fails_alone() -> None:
    engine = Engine()
    engine.unencodable = {2}
    asked = [AwaitedSegment(number) for number in range(5)]
    with scheduling(engine) as scheduler:
        scheduler.submit([one.request for one in asked])
        outcomes = [one.result() for one in asked]

    assert isinstance(outcomes[2], RuntimeError)
    for one, outcome in zip(asked, outcomes, strict=True):
        assert one is asked[2] or outcome == alone(one)


@contextmanager
def queueing(queue_size: int) -> Iterator[tuple[Engine, Scheduler[list[int]]]]:
    """Let one source run that holds all places until the engine's gate is set, so that others wait."""
    engine = Engine()
    engine.gate.clear()
    with scheduling(engine, queue_size=queue_size, max_sources=1) as scheduler:
        scheduler.submit([AwaitedSegment(0).request])
        until(lambda: bool(engine.encoded))
        yield engine, scheduler


def test_a_full_queue_refuses_at_once_and_whole() -> None:
    with queueing(4) as (engine, scheduler):
        scheduler.submit([AwaitedSegment(number).request for number in range(1, 4)])

        with pytest.raises(Overloaded) as raised:
            scheduler.submit([AwaitedSegment(4).request, AwaitedSegment(5).request])
        assert (raised.value.num_waiting, raised.value.queue_size, raised.value.num_sources) == (3, 4, 2)
        last = AwaitedSegment(6)
        scheduler.submit([last.request])

        engine.gate.set()
        assert last.result() == alone(last)
        assert [4] not in engine.encoded


def test_large_requests_leave_a_quarter_of_the_queue_to_short_ones() -> None:
    with queueing(8) as (engine, scheduler):
        for job in jobs_of(6):
            scheduler.submit([job.request])

        with pytest.raises(Overloaded):
            scheduler.submit([job.request for job in jobs_of(1)])
        short = AwaitedSegment(1)
        scheduler.submit([short.request, AwaitedSegment(2).request])
        engine.gate.set()
        assert short.result() == alone(short)


def test_an_owner_fills_at_most_half_of_the_queue_and_is_told_its_share() -> None:
    with queueing(8) as (engine, scheduler):
        for owner, count in (("A", 4), ("B", 4)):
            for number in range(count):
                scheduler.submit([of_owner(owner, number)])
            with pytest.raises(Overloaded, match=f"{count} of them yours") as raised:
                scheduler.submit([of_owner(owner, 5)])
            assert raised.value.num_of_owner == count
        engine.gate.set()


def of_owner(owner: str, number: int) -> SegmentRequest:
    request = AwaitedSegment(number).request
    request.flow = Flow(owner)
    return request


def test_a_list_may_be_longer_than_the_queue() -> None:
    asked = [AwaitedSegment(number % 50, max_tokens=3) for number in range(1000)]
    with scheduling(Engine(), queue_size=1, max_sources=40) as scheduler:
        scheduler.enqueue([one.request for one in asked])
        outcomes = [one.result() for one in asked]

    assert all(isinstance(outcome, list) for outcome in outcomes)


def test_a_list_leaves_the_queue_to_others() -> None:
    engine = Engine()
    with scheduling(engine, queue_size=2, max_sources=1) as scheduler:
        scheduler.enqueue([AwaitedSegment(number, max_tokens=ENDLESS).request for number in range(100)])

        scheduler.submit([AwaitedSegment(1).request, AwaitedSegment(2).request])


def test_cancelled_sources_leave_and_others_take_their_place() -> None:
    engine = Engine()
    running, waiting = AwaitedSegment(0, max_tokens=ENDLESS), AwaitedSegment(1)
    with scheduling(engine, max_sources=1) as scheduler:
        scheduler.submit([running.request])
        until(lambda: bool(engine.num_rows))
        given_up = AwaitedSegment(2)
        scheduler.submit([given_up.request, waiting.request])

        scheduler.cancel([running.request, given_up.request])

        assert waiting.result() == alone(waiting)
    assert running.outcomes == given_up.outcomes == []
    assert [2] not in engine.encoded


@pytest.mark.parametrize("max_sources", [1, 2], ids=["waiting", "running"])
def test_a_source_whose_deadline_passes_fails_and_leaves_the_others(max_sources: int) -> None:
    engine = Engine()
    endless = AwaitedSegment(0, max_tokens=ENDLESS)
    with scheduling(engine, max_sources=max_sources) as scheduler:
        scheduler.submit([endless.request])
        until(lambda: bool(engine.num_rows))
        late = AwaitedSegment(1, max_tokens=ENDLESS, timeout_s=0.05)
        scheduler.submit([late.request])

        outcome = late.result()

        assert isinstance(outcome, DeadlineExceeded)
        assert outcome.timeout_s == 0.05
        num_steps = len(engine.num_rows)
        until(lambda: len(engine.num_rows) > num_steps + 1)
        assert engine.num_rows[-1] == 1
        assert not endless.is_done.is_set()


def test_steps_are_reported_as_they_come_and_not_twice() -> None:
    engine = Engine()
    engine.undecodable = {1}
    watched, guilty = AwaitedSegment(0, max_tokens=6), AwaitedSegment(1, max_tokens=ENDLESS)
    reports: list[list[int]] = []
    watched.request.on_step = reports.append
    watched.request.source = AwaitedSegment(4, max_tokens=7).request.source
    with scheduling(engine) as scheduler:
        scheduler.submit([watched.request, guilty.request])
        outcome = watched.result()

    assert isinstance(outcome, list)
    assert reports == [list(outcome[0].ids[: len(report)]) for report in reports]
    assert [len(report) for report in reports] == list(range(1, len(reports) + 1))


def test_a_report_that_raises_fails_its_source_alone() -> None:
    def fail(_: list[int]) -> None:
        raise LookupError("a caller's own fault")

    faulty, other = AwaitedSegment(0, max_tokens=ENDLESS), AwaitedSegment(1)
    faulty.request.on_step = fail
    with scheduling(Engine()) as scheduler:
        scheduler.submit([faulty.request, other.request])

        assert isinstance(faulty.result(), LookupError)
        assert other.result() == alone(other)


def test_closing_fails_what_waits_and_what_runs_and_ends_the_threads() -> None:
    engine = Engine()
    asked = [AwaitedSegment(number, max_tokens=ENDLESS) for number in range(3)]
    before = threading.active_count()
    with scheduling(engine, max_sources=1, replicas=2) as scheduler:
        scheduler.submit([one.request for one in asked])
        until(lambda: bool(engine.num_rows))

        scheduler.close()

        assert all(isinstance(one.result(), TranslatorClosed) for one in asked)
        assert threading.active_count() == before
        scheduler.close()
        with pytest.raises(TranslatorClosed):
            scheduler.submit([AwaitedSegment(1).request])
        late = AwaitedSegment(1)
        scheduler.enqueue([late.request])
        assert isinstance(late.result(), TranslatorClosed)


def test_no_thread_runs_before_the_first_source() -> None:
    before = threading.active_count()
    with scheduling(Engine(), replicas=3):
        assert threading.active_count() == before


def test_a_scheduler_that_is_forgotten_ends_its_threads() -> None:
    engine = Engine()
    scheduler = Scheduler(engine.encode, engine.open_lane, SchedulerOptions(2, 10))
    asked = AwaitedSegment(1)
    before = threading.active_count()
    scheduler.submit([asked.request])
    asked.result()
    gone = weakref.ref(scheduler)

    del scheduler
    gc.collect()

    assert gone() is None
    until(lambda: threading.active_count() == before)


def test_an_exit_does_not_wait_for_a_source_that_never_ends() -> None:
    program = """
from tests.scheduling.doubles import ENDLESS, AwaitedSegment, Engine, until
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
engine = Engine()
scheduler = Scheduler(engine.encode, engine.open_lane, SchedulerOptions(2, 10))
scheduler.submit([AwaitedSegment(number, max_tokens=ENDLESS).request for number in range(4)])
until(lambda: bool(engine.num_rows))
print("main is done")
"""
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True, timeout=60
    )

    assert (finished.stdout, finished.stderr) == ("main is done\n", "")


@pytest.mark.parametrize(("replicas", "queue_size"), [(0, 1), (1, 0)])
def test_nothing_to_run_on_or_wait_in_is_refused(replicas: int, queue_size: int) -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        SchedulerOptions(replicas, queue_size)
