"""Triton kernels that choose tokens, as `Greedy`, `Beam` and `Utf8Strategy` do. Arrays as in kernels.py."""

import triton
import triton.language as tl

from dragoman.cuda.columns import Fact, FinishedFact, RowFact, SourceStatus

LENGTH, MOST, LEAST, NUM_FORCED, CAN_REPLACE, STOPS_EARLY, STATUS, _, NUM_FINISHED, _ = (
    tl.constexpr(int(one)) for one in Fact
)
LAST, UTF8, CACHE = (tl.constexpr(int(one)) for one in RowFact)
FINISHED_PARENT, FINISHED_TOKENS, FINISHED_LAST, FINISHED_ORDER = (
    tl.constexpr(int(one)) for one in FinishedFact
)
RUNNING, DONE, FAULTY = (tl.constexpr(int(one)) for one in SourceStatus)
NUM_FACTS, NUM_ROW_FACTS, NUM_FINISHED_FACTS = (
    tl.constexpr(len(one)) for one in (Fact, RowFact, FinishedFact)
)
NUM_BYTES = tl.constexpr(257)
MAY_END, MAY_REPLACE = tl.constexpr(9), tl.constexpr(10)


@triton.jit
def pick(
    logits, suppressed, bytes_of, legal, order, facts, rows, logprobs, ids,
    K: tl.constexpr, BEAMS: tl.constexpr, NUM_BEST: tl.constexpr, BETWEEN: tl.constexpr, INSIDE: tl.constexpr,
    BC: tl.constexpr, EOS: tl.constexpr, HAS_BYTES: tl.constexpr, SUPPRESSES: tl.constexpr,
    V: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """Write each row's best NUM_BEST candidates, logprobs and ids [R, BC], as `Utf8Strategy` passes them on.

    Greedy search needs the second only where the end would come too early. A row looks at BETWEEN candidates,
    or inside a character at INSIDE; NaN makes its source faulty.
    """
    row = tl.program_id(0)
    slot = tl.load(order + row // K)
    state = tl.load(rows + (slot * BEAMS + row % K) * NUM_ROW_FACTS + UTF8)
    token = tl.arange(0, BV)
    left = tl.load(logits + row.to(tl.int64) * V + token, mask=token < V, other=float("-inf")).to(tl.float32)
    largest = tl.max(left, 0)
    normaliser = tl.log(tl.sum(tl.exp(left - largest), 0)) + largest
    if (normaliser != normaliser) & (tl.load(facts + slot * NUM_FACTS + STATUS) == RUNNING):
        tl.store(facts + slot * NUM_FACTS + STATUS, FAULTY)
    if SUPPRESSES:
        left += tl.load(suppressed + token, mask=token < V, other=0.0)
    zero = state * 0
    needed = zero + NUM_BEST
    if K == 1:
        is_early = tl.load(facts + slot * NUM_FACTS + LENGTH) < tl.load(facts + slot * NUM_FACTS + LEAST)
        needed = tl.where(is_early, NUM_BEST, 1)
    looks_at = needed
    if HAS_BYTES:
        looks_at = tl.where(state == 0, BETWEEN, INSIDE)
    column = tl.arange(0, BC)
    best_ids, best = tl.zeros([BC], tl.int32), tl.full([BC], float("-inf"), tl.float32)
    raw_ids, raw, other_ids = best_ids, best, best_ids
    num_legal, num_other, goes_on, seen = zero, zero, zero, zero
    while (seen < looks_at) & ((num_legal < needed) | (goes_on == 0)):
        most = tl.max(left, 0)
        found = tl.min(tl.where(left == most, token, V - 1), 0)
        left = tl.where(token == found, float("-inf"), left)
        logprob = most - normaliser
        is_legal = zero + 1
        if HAS_BYTES:
            byte = tl.load(bytes_of + found)
            is_legal = tl.load(legal + state * NUM_BYTES + byte).to(tl.int32)
        raw_ids, raw = tl.where(column == seen, found, raw_ids), tl.where(column == seen, logprob, raw)
        is_here = (column == num_legal) & (is_legal == 1)
        best_ids, best = tl.where(is_here, found, best_ids), tl.where(is_here, logprob, best)
        other_ids = tl.where((column == num_other) & (is_legal == 0), found, other_ids)
        goes_on += is_legal * ((logprob > float("-inf")) & (found != EOS)).to(tl.int32)
        num_legal += is_legal
        num_other += 1 - is_legal
        seen += 1
    if HAS_BYTES:
        is_stuck = goes_on == 0
        # The rest are impossible, in their order.
        shifted = tl.sum(tl.where(column[None, :] == (column - num_legal)[:, None], other_ids[None, :], 0), 1)
        best_ids = tl.where(column < num_legal, best_ids, shifted)
        best_ids, best = tl.where(is_stuck, raw_ids, best_ids), tl.where(is_stuck, raw, best)
    tl.store(ids + row * BC + column, best_ids)
    tl.store(logprobs + row * BC + column, best)


@triton.jit
def _next_state(after, state, byte, can_replace):
    """Return the state of the bytes after one of them."""
    following = tl.load(after + state * NUM_BYTES + byte).to(tl.int32)
    return tl.where((following == MAY_END) & (can_replace == 1), MAY_REPLACE, following)


@triton.jit
def advance_greedy(
    logprobs, ids, bytes_of, after, forced, order, facts, rows, totals, tokens,
    BEAMS: tl.constexpr, BC: tl.constexpr, EOS: tl.constexpr, CAPACITY: tl.constexpr,
):  # fmt: skip
    """Take each row's best token: a step of `Greedy` for the source of one row."""
    row = tl.program_id(0)
    slot = tl.load(order + row).to(tl.int64)
    fact, state = facts + slot * NUM_FACTS, rows + slot * BEAMS * NUM_ROW_FACTS
    length = tl.load(fact + LENGTH)
    token, logprob = tl.load(ids + row * BC), tl.load(logprobs + row * BC)
    is_early = (token == EOS) & (length < tl.load(fact + LEAST))
    token = tl.where(is_early, tl.load(ids + row * BC + 1), token)
    logprob = tl.where(is_early, tl.load(logprobs + row * BC + 1), logprob)
    is_forced = length < tl.load(fact + NUM_FORCED)
    token = tl.where(is_forced, tl.load(forced + slot * CAPACITY + length), token)
    logprob = tl.where(is_forced, 0.0, logprob)
    if tl.load(fact + STATUS) == RUNNING:
        total = tl.load(totals + slot * BEAMS)
        tl.store(totals + slot * BEAMS, total + logprob.to(tl.float64))
        tl.store(tokens + (slot * CAPACITY + length) * BEAMS, token)
        following = _next_state(
            after, tl.load(state + UTF8), tl.load(bytes_of + token), tl.load(fact + CAN_REPLACE)
        )
        tl.store(state + UTF8, following)
        tl.store(state + LAST, token)
        tl.store(fact + LENGTH, length + 1)
        if (token == EOS) | (length + 1 >= tl.load(fact + MOST)):
            tl.store(fact + STATUS, DONE)


@triton.jit
def advance_beam(
    logprobs, ids, bytes_of, after, forced, order, facts, rows, totals, tokens,
    parents, ancestors, norms, scores, finals, finished,
    K: tl.constexpr, NUM_BEST: tl.constexpr, BEAMS: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr,
    EOS: tl.constexpr, CAPACITY: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """Rank the candidates of one source: a step of `Beam`, in the same order and the same float64 numbers."""
    group = tl.program_id(0)
    slot = tl.load(order + group).to(tl.int64)
    fact = facts + slot * NUM_FACTS
    is_running = tl.load(fact + STATUS) == RUNNING
    length, most = tl.load(fact + LENGTH), tl.load(fact + MOST)
    rank, column = tl.arange(0, BK), tl.arange(0, BC)
    is_rank = rank < K
    is_real = is_rank[:, None] & (column < NUM_BEST)[None, :]
    flat = rank[:, None] * NUM_BEST + column[None, :]
    inputs = (group * K + rank)[:, None] * BC + column[None, :]
    token = tl.load(ids + inputs, mask=is_real, other=0)
    total = tl.load(totals + slot * BEAMS + rank, mask=is_rank, other=float("-inf"))[:, None]
    total = total + tl.load(logprobs + inputs, mask=is_real, other=float("-inf")).to(tl.float64)
    total = tl.where((token == EOS) & (length < tl.load(fact + LEAST)), float("-inf"), total)
    is_forced = length < tl.load(fact + NUM_FORCED)
    token = tl.where(is_forced, tl.load(forced + slot * CAPACITY + length), token)
    total = tl.where(is_forced, tl.where(flat == 0, 0.0, float("-inf")).to(tl.float64), total)
    norm_now = tl.load(norms + slot * (CAPACITY + 1) + length + 1)
    is_last = length + 1 >= most
    stops_early = tl.load(fact + STOPS_EARLY) == 1
    ends = finished + slot * BEAMS * NUM_FINISHED_FACTS + rank * NUM_FINISHED_FACTS
    score = tl.load(scores + slot * BEAMS + rank, mask=is_rank, other=float("inf"))
    final = tl.load(finals + slot * BEAMS + rank, mask=is_rank, other=0.0)
    end_parent = tl.load(ends + FINISHED_PARENT, mask=is_rank, other=0)
    end_length = tl.load(ends + FINISHED_TOKENS, mask=is_rank, other=0)
    end_token = tl.load(ends + FINISHED_LAST, mask=is_rank, other=0)
    end_order = tl.load(ends + FINISHED_ORDER, mask=is_rank, other=-1)
    count = tl.load(fact + NUM_FINISHED)
    best_total = tl.full([BK], float("-inf"), tl.float64)
    best_token, best_parent = tl.zeros([BK], tl.int32), tl.zeros([BK], tl.int32)
    num_live = count * 0
    for nth in range(2 * K):
        largest = tl.max(tl.max(tl.where(is_real, total, float("-inf")), 1), 0)
        found = tl.min(tl.min(tl.where(is_real & (total == largest), flat, K * NUM_BEST - 1), 1), 0)
        is_found = flat == found
        found_token = tl.sum(tl.sum(tl.where(is_found & is_real, token, 0), 1), 0)
        is_real = is_real & (flat != found)
        parent = found // NUM_BEST
        is_end = found_token == EOS
        # Of equally bad ones the last that finished makes way.
        worst = tl.min(score, 0)
        latest = tl.max(tl.where(score == worst, (end_order + 1) * BK + rank, -1), 0) % BK
        own_score = largest / norm_now
        is_kept = (nth < K) & (is_end | is_last) & (own_score > worst)
        here = is_kept & (rank == latest)
        score, final = tl.where(here, own_score, score), tl.where(here, largest, final)
        end_parent, end_token = tl.where(here, parent, end_parent), tl.where(here, found_token, end_token)
        end_length, end_order = tl.where(here, length + 1, end_length), tl.where(here, count, end_order)
        count += is_kept.to(tl.int32)
        is_full = tl.min(score, 0) > float("-inf")
        most = tl.where(is_kept & stops_early & is_full, length + 1, most)
        lives = (rank == num_live) & (is_end == 0)
        best_total = tl.where(lives, largest, best_total)
        best_token, best_parent = (
            tl.where(lives, found_token, best_token),
            tl.where(lives, parent, best_parent),
        )
        num_live += (is_end == 0).to(tl.int32)
    first_total = tl.sum(tl.where(rank == 0, best_total, 0.0), 0)
    highest = tl.max(tl.where(is_rank, score, float("-inf")), 0)
    is_done = (length + 1 >= most) | (
        (first_total / norm_now <= tl.min(score, 0)) & (highest > float("-inf"))
    )
    writes = rank < tl.where(is_running, K, 0)
    own_rows, parent_rows = slot * BEAMS + rank, slot * BEAMS + best_parent
    state = tl.load(rows + parent_rows * NUM_ROW_FACTS + UTF8, mask=writes, other=0)
    byte = tl.load(bytes_of + best_token, mask=writes, other=0)
    state = _next_state(after, state, byte, tl.load(fact + CAN_REPLACE))
    for first in range(0, length, BT):
        past = first + tl.arange(0, BT)
        inside = writes[:, None] & (past < length)[None, :]
        moved = tl.load(ancestors + parent_rows[:, None] * CAPACITY + past[None, :], mask=inside, other=0)
        tl.debug_barrier()
        tl.store(ancestors + own_rows[:, None] * CAPACITY + past[None, :], moved, mask=inside)
    tl.debug_barrier()
    tl.store(
        ancestors + own_rows * CAPACITY + length, best_parent.to(ancestors.dtype.element_ty), mask=writes
    )
    history = (slot * CAPACITY + length) * BEAMS + rank
    tl.store(tokens + history, best_token, mask=writes)
    tl.store(parents + history, best_parent.to(parents.dtype.element_ty), mask=writes)
    tl.store(totals + own_rows, best_total, mask=writes)
    tl.store(rows + own_rows * NUM_ROW_FACTS + LAST, best_token, mask=writes)
    tl.store(rows + own_rows * NUM_ROW_FACTS + UTF8, state, mask=writes)
    tl.store(scores + own_rows, score, mask=writes)
    tl.store(finals + own_rows, final, mask=writes)
    tl.store(ends + FINISHED_PARENT, end_parent, mask=writes)
    tl.store(ends + FINISHED_TOKENS, end_length, mask=writes)
    tl.store(ends + FINISHED_LAST, end_token, mask=writes)
    tl.store(ends + FINISHED_ORDER, end_order, mask=writes)
    if is_running:
        tl.store(fact + LENGTH, length + 1)
        tl.store(fact + MOST, most)
        tl.store(fact + NUM_FINISHED, count)
        tl.store(fact + STATUS, tl.where(is_done, DONE, RUNNING))
