"""A large text holds nobody up: what is done before a short one is answered is counted, in runs and steps."""

from collections.abc import Callable

import pytest

from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.policy import LIGHT_TOKENS, Tier
from dragoman.scheduling.scheduler import Scheduler
from dragoman.types import Priority
from tests.scheduling.doubles import ENDLESS, AwaitedSegment, Engine, scheduling, until

SHORT = 1
"""The number of the short text's source."""
SHORT_STEPS = 8
"""It has no more tokens."""


def text_of(
    num_segments: int, *, owner: object = None, max_tokens: int = 8, first: int = 100
) -> list[AwaitedSegment]:
    """Segments of one request."""
    flow = Flow(owner)
    asked = [AwaitedSegment(first + number, max_tokens=max_tokens) for number in range(num_segments)]
    for one in asked:
        one.request.flow = flow
    return asked


def submit(scheduler: Scheduler[list[int]], asked: list[AwaitedSegment]) -> None:
    scheduler.submit([one.request for one in asked])


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
    engine, short = Engine(), AwaitedSegment(SHORT)
    with scheduling(engine) as scheduler:
        submit(scheduler, text_of(600, max_tokens=ENDLESS))
        until(lambda: len(engine.num_rows) > 20)

        submit(scheduler, [short])

        short.result()
        assert max(engine.num_rows) == 8


def test_bulk_goes_on_while_short_texts_come_all_the_time() -> None:
    engine = Engine()
    large = text_of(LIGHT_TOKENS + 1)
    with scheduling(engine) as scheduler:
        shorts = [AwaitedSegment(number, max_tokens=ENDLESS) for number in range(8)]
        for one in shorts:
            submit(scheduler, [one])
        until(lambda: len(engine.num_rows) > 20)

        submit(scheduler, large)

        for one in large:
            one.result()
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


def test_what_waits_first_of_all_is_not_decided_by_how_much_waits_of_a_request() -> None:
    """A job is bulk even if it is one segment; a short interactive text stays light beside its own key's."""
    engine, job, short = Engine(), AwaitedSegment(3, max_tokens=ENDLESS), AwaitedSegment(SHORT)
    job.request.priority = Priority.JOB
    with scheduling(engine) as scheduler:
        submit(scheduler, [job])
        submit(scheduler, [short])
        short.result()

    assert (job.request.tier, short.request.tier) == (Tier.BULK, Tier.LIGHT)


def test_a_request_of_many_texts_becomes_bulk_as_its_texts_come() -> None:
    flow = Flow()
    asked = [AwaitedSegment(number) for number in range(LIGHT_TOKENS + 5)]
    with scheduling(Engine()) as scheduler:
        for one in asked:
            one.request.flow = flow
            submit(scheduler, [one])
        for one in asked:
            one.result()

    tiers = [one.request.tier for one in asked]
    assert tiers == [Tier.LIGHT] * LIGHT_TOKENS + [Tier.BULK] * 5
