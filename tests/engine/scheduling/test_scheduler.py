"""The engine's threads: right results whatever happens beside them, and nobody left waiting."""

import gc
import threading
import weakref

import pytest

from dragoman.errors import DeadlineExceeded, Overloaded, TranslatorClosed
from dragoman.scheduling import scheduler as scheduler_module
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
from dragoman.types import Priority
from tests.engine.routing.doubles import until
from tests.engine.scheduling.doubles import (
    ENDLESS,
    AwaitedSegment,
    Engine,
    alone,
    endless,
    one_request,
    outcomes_of,
    queueing,
    scheduling,
    submit,
)


@pytest.mark.parametrize("replicas", [1, 3])
def test_every_source_gets_what_it_gets_alone(replicas: int) -> None:
    requested = [AwaitedSegment(number, beam_size=(1, 3)[number % 2]) for number in range(60)]

    with scheduling(Engine(), replicas=replicas) as scheduler:
        for one in requested:
            submit(scheduler, [one])
        outcomes = [one.result() for one in requested]

    assert outcomes == [alone(one) for one in requested]


def test_a_source_joins_while_another_runs() -> None:
    (running,), short = endless(1), AwaitedSegment(1)
    engine = Engine()
    with scheduling(engine) as scheduler:
        submit(scheduler, [running])
        until(lambda: bool(engine.num_rows))

        assert outcomes_of(scheduler, [short]) == [alone(short)]
        assert 2 in engine.num_rows
        assert not running.is_done.is_set()


def test_jobs_make_room_while_others_wait_for_their_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "RECENT_S", 0.0)
    engine, interactive = Engine(), endless(1)
    with scheduling(engine) as scheduler:
        submit(scheduler, interactive)
        until(lambda: bool(engine.num_rows))
        submit(scheduler, endless(6, 10, Priority.JOB))
        until(lambda: len(engine.encoded) == 2 and len(engine.num_rows) > 200)
        assert max(engine.num_rows) == 1

        scheduler.cancel([interactive[0].request])
        until(lambda: engine.num_rows[-1] == 6)


def test_jobs_make_room_for_those_who_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "RECENT_S", 3600.0)
    engine = Engine()
    with scheduling(engine) as scheduler:
        outcomes_of(scheduler, [AwaitedSegment(0)])
        engine.num_rows.clear()
        submit(scheduler, endless(6, 10, Priority.JOB))
        until(lambda: len(engine.num_rows) > 50)
        assert max(engine.num_rows) == 1


def test_replicas_share_what_waits() -> None:
    engine = Engine()
    with scheduling(engine, replicas=3) as scheduler:
        submit(scheduler, endless(6))

        until(lambda: len(engine.threads) == 3)
        until(lambda: sorted(map(len, engine.encoded)) == [2, 2, 2])


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(
    ("fault", "problem"),
    [("undecodable", "the step failed"), ("unencodable", "an id is not in the vocabulary")],
)
def test_a_source_that_cannot_be_encoded_or_decoded_fails_alone(
    beam_size: int, fault: str, problem: str
) -> None:
    engine = Engine()
    setattr(engine, fault, {3})
    requested = [AwaitedSegment(number, beam_size=beam_size) for number in range(7)]
    requested[3] = AwaitedSegment(3, max_tokens=ENDLESS, beam_size=beam_size)
    with scheduling(engine) as scheduler:
        outcomes = outcomes_of(scheduler, requested)
        again = AwaitedSegment(9, beam_size=beam_size)
        assert outcomes_of(scheduler, [again]) == [alone(again)], "the replica lives on"

    error = outcomes[3]
    assert isinstance(error, RuntimeError)
    assert str(error) == problem
    for one, outcome in zip(requested, outcomes, strict=True):
        assert one is requested[3] or outcome == alone(one)


def test_a_full_queue_rejects_at_once_and_whole() -> None:
    with queueing(4) as (engine, scheduler):
        submit(scheduler, [AwaitedSegment(number) for number in range(1, 4)])

        with pytest.raises(Overloaded) as raised:
            submit(scheduler, [AwaitedSegment(4), AwaitedSegment(5)])
        assert (raised.value.num_waiting, raised.value.queue_size, raised.value.num_sources) == (3, 4, 2)
        engine.gate.set()
        last = AwaitedSegment(6)
        assert outcomes_of(scheduler, [last]) == [alone(last)]
        assert [4] not in engine.encoded


def test_large_requests_leave_a_quarter_of_the_queue_to_short_ones() -> None:
    with queueing(8) as (engine, scheduler):
        for job in endless(6, 10, Priority.JOB):
            submit(scheduler, [job])

        with pytest.raises(Overloaded):
            submit(scheduler, endless(1, 10, Priority.JOB))
        short = AwaitedSegment(1)
        submit(scheduler, [short, AwaitedSegment(2)])
        engine.gate.set()
        assert short.result() == alone(short)


def test_an_owner_fills_at_most_half_of_the_queue_and_the_error_names_its_share() -> None:
    def submit_for(owner: str, number: int) -> None:
        requested = AwaitedSegment(number)
        requested.request.flow = Flow(owner)
        submit(scheduler, [requested])

    with queueing(8) as (engine, scheduler):
        for owner in "AB":
            for number in range(4):
                submit_for(owner, number)
            with pytest.raises(Overloaded, match="4 of them yours") as raised:
                submit_for(owner, 5)
            assert raised.value.num_of_owner == 4
        engine.gate.set()


def test_a_list_may_be_longer_than_the_queue_and_leaves_it_to_others() -> None:
    requested = [AwaitedSegment(number % 50, max_tokens=3) for number in range(200)]
    with queueing(queue_size=2) as (engine, scheduler):
        scheduler.enqueue(one_request(requested))
        submit(scheduler, [AwaitedSegment(1), AwaitedSegment(2)])
        engine.gate.set()

        assert all(isinstance(one.result(), list) for one in requested)


def test_cancelled_sources_leave_and_others_take_their_place() -> None:
    engine = Engine()
    running, given_up, waiting = AwaitedSegment(0, max_tokens=ENDLESS), AwaitedSegment(2), AwaitedSegment(1)
    with scheduling(engine, max_sources=1) as scheduler:
        submit(scheduler, [running])
        until(lambda: bool(engine.num_rows))
        submit(scheduler, [given_up, waiting])

        scheduler.cancel([running.request, given_up.request])

        assert waiting.result() == alone(waiting)
    assert running.outcomes == given_up.outcomes == []
    assert [2] not in engine.encoded


@pytest.mark.parametrize("max_sources", [1, 2], ids=["waiting", "running"])
def test_a_source_whose_deadline_passes_fails_and_leaves_the_others(max_sources: int) -> None:
    engine, (running,) = Engine(), endless(1)
    with scheduling(engine, max_sources=max_sources) as scheduler:
        submit(scheduler, [running])
        until(lambda: bool(engine.num_rows))

        (outcome,) = outcomes_of(scheduler, [AwaitedSegment(1, max_tokens=ENDLESS, timeout_s=0.05)])

        assert isinstance(outcome, DeadlineExceeded)
        assert outcome.timeout_s == 0.05
        num_steps = len(engine.num_rows)
        until(lambda: len(engine.num_rows) > num_steps + 1)
        assert engine.num_rows[-1] == 1
        assert not running.is_done.is_set()


def test_steps_are_reported_as_they_come_and_not_twice() -> None:
    engine = Engine()
    engine.undecodable = {1}
    watched, guilty = AwaitedSegment(4, max_tokens=7), AwaitedSegment(1, max_tokens=ENDLESS)
    reports: list[list[int]] = []
    watched.request.on_step = reports.append
    with scheduling(engine) as scheduler:
        outcome, _ = outcomes_of(scheduler, [watched, guilty])

    assert isinstance(outcome, list)
    assert reports == [list(outcome[0].ids[:length]) for length in range(1, len(reports) + 1)]


def test_closing_fails_what_waits_and_what_runs_and_ends_the_threads() -> None:
    engine, requested, late = Engine(), endless(3), AwaitedSegment(1)
    before = threading.active_count()
    with scheduling(engine, max_sources=1, replicas=2) as scheduler:
        assert threading.active_count() == before, "none runs before the first source"
        submit(scheduler, requested)
        until(lambda: bool(engine.num_rows))

        scheduler.close()

        assert all(isinstance(one.result(), TranslatorClosed) for one in requested)
        assert threading.active_count() == before
        scheduler.close()
        with pytest.raises(TranslatorClosed):
            submit(scheduler, [AwaitedSegment(1)])
        scheduler.enqueue([late.request])
        assert isinstance(late.result(), TranslatorClosed)


def test_a_scheduler_that_is_forgotten_ends_its_threads() -> None:
    engine = Engine()
    scheduler = Scheduler(engine.encode, engine.open_lane, SchedulerOptions(2, 10))
    before = threading.active_count()
    outcomes_of(scheduler, [AwaitedSegment(1)])
    gone = weakref.ref(scheduler)

    del scheduler
    gc.collect()

    assert gone() is None
    until(lambda: threading.active_count() == before)


@pytest.mark.parametrize(("replicas", "queue_size"), [(0, 1), (1, 0)])
def test_zero_replicas_or_queue_size_is_rejected(replicas: int, queue_size: int) -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        SchedulerOptions(replicas, queue_size)
