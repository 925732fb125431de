"""Who is next among requests: fair shares over owners and requests, and large texts hold nobody up."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.scheduling.fair_queue import FairQueue, Flow
from dragoman.scheduling.policy import LIGHT_TOKENS, Tier
from dragoman.scheduling.tier_turns import LIGHT_WEIGHT, TierScheduler
from dragoman.types import Priority
from tests.engine.routing.doubles import until
from tests.engine.scheduling.doubles import (
    ENDLESS,
    AwaitedSegment,
    Engine,
    endless,
    outcomes_of,
    scheduling,
    submit,
)

MOST_TOKENS = 20


@dataclass(frozen=True, eq=False)
class Segment:
    num_tokens: int = 10
    flow: Flow = field(default_factory=Flow)
    deadline_s: float = 0.0


def queue_of(*segments: Segment) -> FairQueue[Segment]:
    queue: FairQueue[Segment] = FairQueue()
    for segment in segments:
        queue.add([segment])
    return queue


def next_of(queue: FairQueue[Segment]) -> Segment:
    segment = next(queue.in_order())
    queue.take([segment])
    return segment


def segments_of(flow: Flow, lengths: list[int]) -> list[Segment]:
    return [Segment(length, flow) for length in lengths]


Requests = list[tuple[str, list[int]]]
"""Owner and lengths of the segments of each."""
LENGTHS = st.lists(st.integers(1, MOST_TOKENS), min_size=1, max_size=30)
REQUESTS = st.lists(st.tuples(st.sampled_from("ABC"), LENGTHS), min_size=1, max_size=6)


@given(REQUESTS)
def test_the_order_that_is_checked_is_the_order_in_which_they_are_taken(
    requests: Requests,
) -> None:
    queue = queue_of(*(one for owner, lengths in requests for one in segments_of(Flow(owner), lengths)))
    order = list(queue.in_order())

    assert [next_of(queue) for _ in range(len(queue))] == order
    assert len(queue) == 0


@given(REQUESTS)
def test_segments_of_a_request_keep_their_order(requests: Requests) -> None:
    flows = [(Flow(owner), lengths) for owner, lengths in requests]
    order = list(queue_of(*(one for flow, lengths in flows for one in segments_of(flow, lengths))).in_order())

    for flow, lengths in flows:
        assert [one.num_tokens for one in order if one.flow is flow] == lengths


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(1, MOST_TOKENS)), min_size=2, max_size=8))
@settings(max_examples=50)
def test_owners_have_equal_shares_and_then_requests_have(requests: list[tuple[str, int]]) -> None:
    """However long their segments are, and however many requests an owner has."""
    flows = [(Flow(owner), length) for owner, length in requests]
    queue = queue_of(*(one for flow, length in flows for one in segments_of(flow, [length] * 400)))
    by_owner: Counter[object] = Counter()
    by_flow: Counter[Flow] = Counter()
    for _ in range(200):
        segment = next_of(queue)
        by_owner[segment.flow.owner] += segment.num_tokens
        by_flow[segment.flow] += segment.num_tokens
        shares = [by_owner[owner] for owner in {owner for owner, _ in requests}]
        assert max(shares) - min(shares) <= MOST_TOKENS
        for owner in by_owner:
            shares = [by_flow[flow] for flow, _ in flows if flow.owner == owner]
            assert max(shares) - min(shares) <= MOST_TOKENS


@given(st.data())
def test_no_request_starves_behind_later_ones(data: st.DataObject) -> None:
    """A segment is taken before long, though new requests come as fast as they are served."""
    queue = queue_of(*segments_of(Flow("A"), data.draw(LENGTHS)))
    first = Segment(data.draw(st.integers(1, MOST_TOKENS)), Flow("A"))
    queue.add([first])
    bound = (len(queue) + 1) * MOST_TOKENS * 8
    for number in range(bound):
        # Up to three at a time wait beside it, so that its share is never less than a part of all.
        for _ in range(data.draw(st.integers(0, 3)) if number < 30 else 3):
            if len(queue) < 12:
                owner = data.draw(st.sampled_from("AB")) if number < 30 else f"new {number}"
                queue.add([Segment(1 + number % MOST_TOKENS, Flow(owner))])
        if next_of(queue) is first:
            return
    raise AssertionError("it was never taken")


def test_a_newcomer_goes_before_the_rest_of_what_has_had_more() -> None:
    large = Flow("A")
    queue = queue_of(*segments_of(large, [10] * 600))
    for _ in range(50):
        next_of(queue)
    late = Segment(10, Flow("A"))
    queue.add([late])

    assert late in [next_of(queue) for _ in range(2)]


def test_an_owner_that_was_alone_owes_nothing_for_it() -> None:
    """What nobody else wanted is not held against a request."""
    early, late = Flow("A"), Flow("A")
    queue = queue_of(*segments_of(early, [10] * 100))
    for _ in range(50):
        next_of(queue)
    for segment in segments_of(late, [10] * 50):
        queue.add([segment])

    taken = Counter(next_of(queue).flow for _ in range(40))

    assert abs(taken[early] - taken[late]) <= 1


@given(REQUESTS, st.data())
def test_removed_segments_are_not_in_the_order(requests: Requests, data: st.DataObject) -> None:
    segments = [one for owner, lengths in requests for one in segments_of(Flow(owner), lengths)]
    queue = queue_of(*segments)
    gone = data.draw(st.lists(st.sampled_from(segments), unique=True))
    for segment in gone:
        assert queue.remove(segment)
        assert not queue.remove(segment)

    assert set(queue.in_order()) == set(segments) - set(gone) == set(queue)


def test_a_request_waits_in_each_model_as_one_request() -> None:
    flow = Flow("A", num_tokens=500)

    assert flow.at_step(0) is flow
    assert flow.at_step(1) is flow.at_step(1)
    assert (flow.at_step(1).owner, flow.at_step(1).num_tokens) == ("A", 0)


COSTS = st.lists(st.tuples(st.integers(0, 140), st.integers(0, 140)).filter(any), min_size=1, max_size=200)


@given(COSTS)
def test_no_turn_is_given_to_who_has_nothing_to_do(costs: list[tuple[int, int]]) -> None:
    turns = TierScheduler()
    for pair in costs:
        assert pair[turns.next(*pair)] > 0


@given(st.integers(1, 140), st.integers(1, 140))
def test_light_turns_come_first_and_bulk_has_its_part(light_cost: int, bulk_cost: int) -> None:
    turns = TierScheduler()
    spent = Counter[Tier]()
    for number in range(2000):
        tier = turns.next(light_cost, bulk_cost)
        assert number or tier is Tier.LIGHT
        spent[tier] += (light_cost, bulk_cost)[tier]
        assert LIGHT_WEIGHT * spent[Tier.BULK] <= spent[Tier.LIGHT]
        assert LIGHT_WEIGHT * (spent[Tier.BULK] + bulk_cost) + light_cost >= spent[Tier.LIGHT]


JOIN_STEPS = pytest.mark.parametrize("bulk_join_steps", [0, 8])
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
@JOIN_STEPS
def test_a_short_text_waits_for_a_few_steps_of_large_ones_and_not_for_their_segments(
    num_texts: int, max_tokens: int, bulk_join_steps: int
) -> None:
    engine, short = Engine(), AwaitedSegment(SHORT)
    with scheduling(engine, queue_size=20_000, bulk_join_steps=bulk_join_steps) as scheduler:
        for number in range(num_texts):
            submit(scheduler, text_of(600, max_tokens=max_tokens, first=100 + 600 * number))
        until(lambda: len(engine.num_rows) > 20)

        waited = turns_before(engine, short, lambda: submit(scheduler, [short]))

    # One piece of work may have begun before and another been chosen; few steps let bulk have two at most.
    assert len(waited) <= 4


@pytest.mark.parametrize("priority", Priority)
def test_segments_of_a_large_text_leave_a_place_for_a_short_one(priority: Priority) -> None:
    engine, short = Engine(), AwaitedSegment(SHORT)
    short.request.priority = priority
    with scheduling(engine) as scheduler:
        submit(scheduler, text_of(600, max_tokens=ENDLESS))
        until(lambda: len(engine.num_rows) > 20)

        outcomes_of(scheduler, [short])

        assert max(engine.num_rows) == 8


@JOIN_STEPS
def test_bulk_goes_on_while_short_texts_come_all_the_time(bulk_join_steps: int) -> None:
    engine, shorts = Engine(), endless(8)
    with scheduling(engine, bulk_join_steps=bulk_join_steps) as scheduler:
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


@pytest.mark.parametrize("priority", Priority)
def test_a_request_of_many_texts_becomes_bulk_as_its_texts_come(priority: Priority) -> None:
    requested = text_of(LIGHT_TOKENS + 5)
    with scheduling(Engine()) as scheduler:
        for one in requested:
            one.request.priority = priority
            submit(scheduler, [one])
        for one in requested:
            one.result()

    assert [one.request.tier for one in requested] == [Tier.LIGHT] * LIGHT_TOKENS + [Tier.BULK] * 5
