"""Who joins next: room is kept to, interactive goes first, nobody waits for ever."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.scheduling.encoder_batches import encoder_batches
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.policy import (
    LOOK_AHEAD,
    MAX_PASSED_OVER,
    PATIENCE_STEPS,
    Capacity,
    LaneLoad,
    Tier,
    WaitingList,
    fair_share,
    is_time_to_join,
)
from dragoman.types import Priority, SearchKind

GREEDY = SearchKind(1)
INTERACTIVE, JOB = Priority.INTERACTIVE, Priority.JOB
BULK = Tier.BULK
SMALL = Capacity(max_rows=12, max_sources=6, budget_tokens=60)


@dataclass(frozen=True, eq=False)
class Waiter:
    num_tokens: int = 5
    kind: SearchKind = GREEDY
    priority: Priority = INTERACTIVE
    deadline_s: float = math.inf
    flow: Flow = field(default_factory=Flow)
    tier: Tier = BULK


waiters = st.builds(
    Waiter,
    num_tokens=st.integers(1, 80),
    kind=st.sampled_from([1, 1, 4, 12]).map(SearchKind),
    priority=st.sampled_from(Priority),
    deadline_s=st.sampled_from([1.0, 2.0, math.inf]),
)


def waiting_list(sources: list[Waiter], capacity: Capacity = SMALL) -> WaitingList[Waiter]:
    waiting: WaitingList[Waiter] = WaitingList(capacity)
    for source in sources:
        waiting.add([source])
    return waiting


def load_of(running: list[Waiter]) -> dict[SearchKind, LaneLoad]:
    load: dict[SearchKind, LaneLoad] = {}
    for source in running:
        lane = load.get(source.kind, LaneLoad(0, 0))
        load[source.kind] = LaneLoad(lane.num_sources + 1, max(lane.width, source.num_tokens))
    return load


def assert_within(capacity: Capacity, running: list[Waiter]) -> None:
    assert len(running) <= capacity.max_sources
    assert sum(source.kind.beam_size for source in running) <= capacity.max_rows
    for lane in load_of(running).values():
        assert lane.num_sources == 1 or lane.num_sources * lane.width <= capacity.budget_tokens


@given(st.lists(waiters, max_size=30), st.integers(0, 8))
def test_admitted_segments_fit(sources: list[Waiter], most: int) -> None:
    waiting = waiting_list(sources)
    running: list[Waiter] = []
    for _ in range(4):
        admitted = waiting.admit(BULK, load_of(running), most)
        assert len(admitted) <= most
        running += admitted
        assert_within(SMALL, running)

    assert len(waiting) == len(sources) - len(running)
    assert len({id(source) for source in running}) == len(running)


@given(st.lists(waiters, min_size=1, max_size=30))
def test_a_replica_with_nothing_to_do_admits_something(sources: list[Waiter]) -> None:
    assert waiting_list(sources).admit(BULK, {}, 1)


@given(st.lists(waiters, min_size=1, max_size=20), st.sampled_from(Tier), st.data())
@settings(max_examples=50)
def test_every_waiting_caller_is_served(first: list[Waiter], tier: Tier, data: st.DataObject) -> None:
    """However many interactive sources come after it, a source that waits is admitted before long."""
    first = [replace(source, tier=tier) for source in first]
    waiting = waiting_list(first)
    running: list[Waiter] = []
    pending = {id(source) for source in first}
    # Each admission takes one at least; then all that are left are overdue and go by arrival, each at the
    # latest when all that ran before it have left.
    for _ in range(2 * (MAX_PASSED_OVER + len(first)) + 2):
        for _ in range(data.draw(st.integers(0, 3))):
            waiting.add([Waiter(num_tokens=data.draw(st.integers(1, 9)), tier=tier)])
        admitted = waiting.admit(tier, load_of(running), SMALL.max_sources)
        pending -= {id(source) for source in admitted}
        running = [*running, *admitted][data.draw(st.integers(1, 6)) :] if admitted else []

    assert not pending


@given(st.lists(st.sampled_from([1, 30, 60]), min_size=1, max_size=8))
def test_after_its_time_the_longest_waiting_goes_first_and_holds_up_the_rest(lengths: list[int]) -> None:
    jobs = [Waiter(num_tokens=length, priority=JOB) for length in lengths]
    waiting = waiting_list(jobs)
    full = {GREEDY: LaneLoad(4, 12)}  # one place is left, if the lane gets no wider
    for _ in range(MAX_PASSED_OVER):
        waiting.add([Waiter(num_tokens=12)])
        assert [source.priority for source in waiting.admit(BULK, full, 1)] == [INTERACTIVE]

    later = Waiter(num_tokens=1)
    waiting.add([later])
    admitted = waiting.admit(BULK, full, 1)

    assert admitted == [job for job in jobs[:1] if job.num_tokens == 1]
    assert waiting.admit(BULK, {}, 1) == [*jobs, later][len(admitted) : len(admitted) + 1]


@given(st.permutations([JOB] * 4 + [INTERACTIVE] * 4))
def test_interactive_sources_go_before_jobs_and_equals_by_arrival(priorities: list[Priority]) -> None:
    sources = [Waiter(priority=priority) for priority in priorities]

    admitted = waiting_list(sources).admit(BULK, {}, 6)

    assert admitted == sorted(sources, key=lambda source: source.priority)[:6]


def test_the_nearest_deadline_goes_first() -> None:
    sources = [Waiter(), Waiter(deadline_s=9.0), Waiter(deadline_s=3.0), Waiter(deadline_s=6.0)]

    assert [one.deadline_s for one in waiting_list(sources).admit(BULK, {}, 3)] == [3.0, 6.0, 9.0]


def test_sources_that_make_the_lane_no_wider_go_before_those_that_do() -> None:
    sources = [Waiter(num_tokens=length) for length in (6, 9, 2, 8, 6, 1)]

    admitted = waiting_list(sources).admit(BULK, {GREEDY: LaneLoad(1, 4)}, 5)

    assert [source.num_tokens for source in admitted] == [6, 2, 6, 1, 8]


def test_a_source_over_the_budget_runs_but_alone() -> None:
    giant = Waiter(num_tokens=1000)
    waiting = waiting_list([giant, Waiter()])

    assert waiting.admit(BULK, {GREEDY: LaneLoad(1, 5)}, 6) != [giant]
    assert waiting.admit(BULK, {}, 6) == [giant]


def test_expired_sources_are_taken_out_and_no_others() -> None:
    sources = [Waiter(deadline_s=deadline_s) for deadline_s in (5.0, 3.0, math.inf, 4.0)]
    waiting = waiting_list(sources)

    assert waiting.expire(2.9) == []
    assert waiting.expire(4.0) == [sources[1], sources[3]]
    assert waiting.next_deadline_s == 5.0
    assert waiting.expire(6.0) == [sources[0]]
    assert waiting.next_deadline_s == math.inf
    assert waiting.admit(BULK, {}, 6) == [sources[2]]


def test_removed_sources_are_not_admitted() -> None:
    sources = [Waiter() for _ in range(3)]
    waiting = waiting_list(sources)
    assert [waiting.remove(sources[1]) for _ in range(2)] == [True, False]
    assert waiting.admit(BULK, {}, 6) == [sources[0], sources[2]]


@given(st.integers(0, 5), st.sampled_from([0, MAX_PASSED_OVER]))
def test_jobs_join_up_to_their_limit_and_delay_nobody(most_jobs: int, times_passed_over: int) -> None:
    waiting = waiting_list([Waiter(priority=JOB) for _ in range(4)], Capacity())
    for _ in range(times_passed_over):
        waiting.add([Waiter()])
        assert [source.priority for source in waiting.admit(BULK, {}, 1, 0)] == [INTERACTIVE]
    for _ in range(4):
        waiting.add([Waiter()])

    admitted = [source.priority for source in waiting.admit(BULK, {}, 20, most_jobs)]

    assert (admitted.count(INTERACTIVE), admitted.count(JOB)) == (4, min(4, most_jobs))


def test_only_the_longest_waiting_segments_are_considered() -> None:
    """However long the queue, an admission costs the same."""
    request = Flow()
    waiting = waiting_list([Waiter(num_tokens=9, flow=request) for _ in range(LOOK_AHEAD)])
    late = Waiter(num_tokens=1, deadline_s=0.0, flow=request)
    waiting.add([late])

    assert late not in waiting.admit(BULK, {}, 6)


CAPACITY = Capacity(max_sources=64)


@pytest.mark.parametrize(
    ("num_waiting", "num_running", "steps_since_join", "expected"),
    [
        (0, 0, 99, False),
        (1, 0, 0, True),
        (500, 0, 0, True),
        (1, 63, 0, True),  # low load: all that wait have a place
        (500, 63, 0, False),  # high load: not for every single place
        (500, 48, 0, True),
        (500, 49, 0, False),
        (500, 63, PATIENCE_STEPS, True),
        (500, 64, PATIENCE_STEPS, False),
    ],
)
def test_sources_join_at_once_at_low_load_and_in_groups_at_high_load(
    num_waiting: int, num_running: int, steps_since_join: int, *, expected: bool
) -> None:
    for tier in Tier:
        assert is_time_to_join(tier, num_waiting, num_running, CAPACITY, steps_since_join) is expected


@pytest.mark.parametrize(
    ("tier", "num_waiting", "num_running", "steps_since_join", "expected"),
    [
        (Tier.LIGHT, 1, 2, 0, True),
        (BULK, 1, 2, 7, False),
        (BULK, 1, 2, 8, True),
        (BULK, 1, 16, 7, False),  # however many slots are free
        (BULK, 2, 2, 0, True),  # they would double what a step does
        (BULK, 1, 0, 0, True),  # nothing would make a step
    ],
)
def test_few_bulk_sources_wait_for_some_steps_where_a_join_takes_long(
    tier: Tier, num_waiting: int, num_running: int, steps_since_join: int, *, expected: bool
) -> None:
    capacity = replace(CAPACITY, bulk_join_steps=8)

    assert is_time_to_join(tier, num_waiting, num_running, capacity, steps_since_join) is expected


@given(st.integers(1, 200), st.integers(2, 8))
def test_replicas_that_take_their_share_in_turn_take_all_and_evenly(num_waiting: int, replicas: int) -> None:
    running = [0] * replicas
    for replica in range(replicas):
        taken = min(num_waiting, fair_share(num_waiting, running, replica))
        running[replica] += taken
        num_waiting -= taken

    assert num_waiting == 0
    assert max(running) == math.ceil(sum(running) / replicas)


@given(st.integers(1, 50), st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_a_replica_with_least_to_do_has_a_share(num_waiting: int, running: list[int]) -> None:
    assert fair_share(num_waiting, running, running.index(min(running))) >= 1


LENGTHS = st.lists(st.integers(1, 200), max_size=80)
RUN_COSTS = st.sampled_from([16, 100, 16384])


@given(LENGTHS, st.integers(1, 500), RUN_COSTS)
def test_every_source_is_encoded_once_within_the_budget(
    lengths: list[int], budget: int, run_tokens: int
) -> None:
    batches = encoder_batches(lengths, budget, run_tokens)

    assert sorted(itertools.chain.from_iterable(batches)) == list(range(len(lengths)))
    for batch in batches:
        longest = lengths[batch[0]]
        assert longest == max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


def encoder_cost(batches: list[list[int]], lengths: list[int], run_tokens: int) -> int:
    """Tokens computed, padding included, and the cost of each run."""
    widths = [8 * math.ceil(max(lengths[i] for i in batch) / 8) for batch in batches]
    return sum(run_tokens + len(batch) * width for batch, width in zip(batches, widths, strict=True))


def groupings(items: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put items into groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [item for item in rest if item not in others]
            for groups in groupings(left):
                yield [[first, *others], *groups]


@given(st.lists(st.integers(1, 90), max_size=6), st.integers(1, 200), RUN_COSTS)
def test_no_other_grouping_for_the_encoder_costs_less(
    lengths: list[int], budget: int, run_tokens: int
) -> None:
    allowed = (
        groups
        for groups in groupings(list(range(len(lengths))))
        if all(len(group) == 1 or encoder_cost([group], lengths, 0) <= budget for group in groups)
    )
    least = min(encoder_cost(groups, lengths, run_tokens) for groups in allowed)

    found = encoder_batches(lengths, budget, run_tokens)
    assert encoder_cost(found, lengths, run_tokens) == least
