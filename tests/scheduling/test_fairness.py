"""A large text holds nobody up: what is done before a short one is answered is counted, in runs and steps."""

from collections.abc import Callable

import pytest

from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.policy import LIGHT_TOKENS, Tier
from dragoman.types import Priority
from tests.routing.doubles import until
from tests.scheduling.doubles import ENDLESS, AwaitedSegment, Engine, endless, outcomes_of, scheduling, submit

SHORT = 1
"""The number of the short text's source."""


def text_of(
    num_segments: int, *, owner: object = None, max_tokens: int = 8, first: int = 100
) -> list[AwaitedSegment]:
    """Segments of one request."""
    flow = Flow(owner)
    requested = [AwaitedSegment(first + number, max_tokens=max_tokens) for number in range(num_segments)]
    for one in requested:
        one.request.flow = flow
    return requested


def turns_before(
    engine: Engine, short: AwaitedSegment, submit_short: Callable[[], None]
) -> list[tuple[str, list[int]]]:
    """What is done between the short text's coming and its end, others' work only."""
    engine.gate.clear()
    num_before = len(engine.turns)
    submit_short()
    engine.gate.set()
    short.result()
    done = engine.turns[num_before:]
    last = max(number for number, (_, sources) in enumerate(done) if SHORT in sources)
    return [turn for turn in done[: last + 1] if SHORT not in turn[1]]


@pytest.mark.parametrize("num_texts", [1, 4, 16])
@pytest.mark.parametrize("max_tokens", [8, ENDLESS])
def test_a_short_text_waits_for_a_few_steps_of_large_ones_and_not_for_their_segments(
    num_texts: int, max_tokens: int
) -> None:
    engine, short = Engine(), AwaitedSegment(SHORT)
    with scheduling(engine, queue_size=20_000) as scheduler:
        for number in range(num_texts):
            submit(scheduler, text_of(600, max_tokens=max_tokens, first=100 + 600 * number))
        until(lambda: len(engine.num_rows) > 20)

        waited = turns_before(engine, short, lambda: submit(scheduler, [short]))

    # One piece of work may have begun before and another been chosen; few steps let bulk have two at most.
    assert len(waited) <= 4


def test_segments_of_a_large_text_leave_a_place_for_a_short_one() -> None:
    engine = Engine()
    with scheduling(engine) as scheduler:
        submit(scheduler, text_of(600, max_tokens=ENDLESS))
        until(lambda: len(engine.num_rows) > 20)

        outcomes_of(scheduler, [AwaitedSegment(SHORT)])

        assert max(engine.num_rows) == 8


def test_bulk_goes_on_while_short_texts_come_all_the_time() -> None:
    engine, shorts = Engine(), endless(8)
    with scheduling(engine) as scheduler:
        for one in shorts:
            submit(scheduler, [one])
        until(lambda: len(engine.num_rows) > 20)

        outcomes_of(scheduler, text_of(LIGHT_TOKENS + 1))

        assert not any(one.is_done.is_set() for one in shorts)


def test_a_key_with_many_large_texts_leaves_another_its_half() -> None:
    engine = Engine()
    engine.gate.clear()
    many = [text_of(200, owner="many", first=1000 * number) for number in range(1, 6)]
    few = text_of(200, owner="few", first=9000)
    with scheduling(engine, queue_size=5000) as scheduler:
        for text in many:
            submit(scheduler, text)
        submit(scheduler, few)
        engine.gate.set()
        for one in few:
            one.result()
        num_done = sum(one.is_done.is_set() for text in many for one in text)

    # Those that ran first before the others came, and those that ran beside the last.
    assert num_done <= len(few) + 40


def test_a_request_of_many_texts_becomes_bulk_as_its_texts_come_and_a_job_is_bulk_at_once() -> None:
    (job,) = endless(1, 3, Priority.JOB)
    requested = text_of(LIGHT_TOKENS + 5)
    with scheduling(Engine()) as scheduler:
        submit(scheduler, [job])
        for one in requested:
            submit(scheduler, [one])
        for one in requested:
            one.result()

    assert job.request.tier is Tier.BULK
    assert [one.request.tier for one in requested] == [Tier.LIGHT] * LIGHT_TOKENS + [Tier.BULK] * 5
