"""Triton kernels of the encoder and of the layers of a decoder step.

Every number is computed in an order that depends on its own row alone: tiles have one size whatever the
number of rows, no sum is split over blocks of threads, and rows are read to their own length. So a row has
the same bits in any company.

Sources have slots; `facts` int32 [slots, `Fact`] and `rows` int32 [slots, BEAMS, `RowFact`] hold what is
known of a source and of each of its hypotheses. A step has rows 0 to B x K, those of the source in slot
order[row // K].
"""

import triton
import triton.language as tl

from dragoman.cuda.columns import Fact, RowFact

LENGTH, SOURCE_LENGTH, WANTS_ATTENTION = (
    tl.constexpr(int(one)) for one in (Fact.LENGTH, Fact.SOURCE_LENGTH, Fact.WANTS_ATTENTION)
)
LAST, CACHE = tl.constexpr(int(RowFact.LAST)), tl.constexpr(int(RowFact.CACHE))
NUM_FACTS, NUM_ROW_FACTS = tl.constexpr(len(Fact)), tl.constexpr(len(RowFact))


@triton.jit
def embed(
    ids, offsets, order, table, positions, out,
    LAST_POSITION: tl.constexpr, FACTOR: tl.constexpr, K: tl.constexpr, BEAMS: tl.constexpr,
    W: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    """Write token vectors with positions: of `ids` and `offsets` by row if K is 0, else of rows of a step."""
    row = tl.program_id(0)
    if K == 0:
        token, offset = tl.load(ids + row), tl.load(offsets + row)
    else:
        slot = tl.load(order + row // K)
        token = tl.load(ids + (slot * BEAMS + row % K) * NUM_ROW_FACTS + LAST)
        offset = tl.load(offsets + slot * NUM_FACTS + LENGTH)
    offset = tl.minimum(offset, LAST_POSITION)
    column = tl.arange(0, BW)
    inside = column < W
    value = tl.load(table + token.to(tl.int64) * W + column, mask=inside, other=0.0).to(tl.float32) * FACTOR
    value += tl.load(positions + offset * W + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * W + column, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def norm(x, gain, bias, out, EPSILON: tl.constexpr, W: tl.constexpr, BW: tl.constexpr):
    """Normalise each row of x, [R, W]."""
    row = tl.program_id(0)
    column = tl.arange(0, BW)
    inside = column < W
    value = tl.load(x + row * W + column, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, 0) / W, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 0) / W + EPSILON)
    value = centred * scale * tl.load(gain + column, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * W + column, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def add(x, y, out, W: tl.constexpr, BW: tl.constexpr):
    """Add rows of [R, W]."""
    row = tl.program_id(0)
    column = tl.arange(0, BW)
    inside = column < W
    value = tl.load(x + row * W + column, mask=inside).to(tl.float32)
    value += tl.load(y + row * W + column, mask=inside).to(tl.float32)
    tl.store(out + row * W + column, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _activated(value, ACTIVATION: tl.constexpr, ALPHA: tl.constexpr):
    """Apply an `Activation` by its number."""
    if ACTIVATION == 1:
        value = tl.maximum(value, 0.0)
    elif ACTIVATION == 2:
        value = 0.5 * value * (1.0 + tl.math.erf(value * 0.7071067811865476))
    elif ACTIVATION == 3:
        inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
        value = value * tl.sigmoid(2.0 * inner)
    elif ACTIVATION == 4:
        value = value * tl.sigmoid(ALPHA * value)
    elif ACTIVATION == 5:
        value = value * tl.sigmoid(value)
    return value


@triton.jit
def linear(
    x, weight, bias, other, out,
    N: tl.constexpr, K: tl.constexpr, ACTIVATION: tl.constexpr, ALPHA: tl.constexpr, ADDS: tl.constexpr,
    BY_ROW: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiply x [R, K] by a weight, [K, N] or BY_ROW [N, K]; activate, add. R is padded to whole tiles."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = n < N
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        offsets = n[None, :].to(tl.int64) * K + k[:, None] if BY_ROW else k[:, None] * N + n[None, :]
        if K % BK == 0 and N % BN == 0:
            a, b = tl.load(x + m[:, None] * K + k[None, :]), tl.load(weight + offsets)
        else:
            a = tl.load(x + m[:, None] * K + k[None, :], mask=(k < K)[None, :], other=0.0)
            b = tl.load(weight + offsets, mask=(k < K)[:, None] & inside[None, :], other=0.0)
        total = tl.dot(a.to(b.dtype), b, total, input_precision="ieee")
    value = total + tl.load(bias + n, mask=inside, other=0.0).to(tl.float32)[None, :]
    value = _activated(value, ACTIVATION, ALPHA)
    offsets = m[:, None].to(tl.int64) * N + n[None, :]
    if ADDS:
        value += tl.load(other + offsets, mask=inside[None, :], other=0.0).to(tl.float32)
    tl.store(out + offsets, value.to(out.dtype.element_ty), mask=inside[None, :])


@triton.jit
def attend_to_source(
    x, blocks, out, SCALE: tl.constexpr, H: tl.constexpr, D: tl.constexpr, BQ: tl.constexpr, BT: tl.constexpr
):
    """Attend among a source's tokens, x [tokens, Q|K|V]; a block is first token, length, first query."""
    block, head = tl.program_id(0), tl.program_id(1)
    begin, length = tl.load(blocks + block * 3), tl.load(blocks + block * 3 + 1)
    query = tl.load(blocks + block * 3 + 2) + tl.arange(0, BQ)
    W: tl.constexpr = H * D
    inputs = x + begin.to(tl.int64) * 3 * W + head * D + tl.arange(0, D)[None, :]
    q = tl.load(inputs + query[:, None] * 3 * W, mask=(query < length)[:, None], other=0.0)
    largest = tl.full([BQ], -1e30, tl.float32)
    total = tl.zeros([BQ], tl.float32)
    mixed = tl.zeros([BQ, D], tl.float32)
    for first in range(0, length, BT):
        token = first + tl.arange(0, BT)
        inside = token < length
        k = tl.load(inputs + token[:, None] * 3 * W + W, mask=inside[:, None], other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * SCALE
        score = tl.where(inside[None, :], score, -1e30)
        following = tl.maximum(largest, tl.max(score, 1))
        weight = tl.where(inside[None, :], tl.exp(score - following[:, None]), 0.0)
        shrink = tl.exp(largest - following)
        v = tl.load(inputs + token[:, None] * 3 * W + 2 * W, mask=inside[:, None], other=0.0)
        mixed = mixed * shrink[:, None] + tl.dot(weight.to(v.dtype), v, input_precision="ieee")
        total = total * shrink + tl.sum(weight, 1)
        largest = following
    offsets = (begin + query[:, None]).to(tl.int64) * W + head * D + tl.arange(0, D)[None, :]
    mixed = mixed / total[:, None]
    tl.store(out + offsets, mixed.to(out.dtype.element_ty), mask=(query < length)[:, None])


@triton.jit
def write_cross(x, slots, offsets, cache, CAPACITY: tl.constexpr, W2: tl.constexpr):
    """Write cross K|V of each token to the cache [slots, CAPACITY, K|V]; W2 is a power of two."""
    row = tl.program_id(0)
    column = tl.arange(0, W2)
    offset = tl.load(slots + row).to(tl.int64) * CAPACITY + tl.load(offsets + row)
    value = tl.load(x + row.to(tl.int64) * W2 + column)
    tl.store(cache + offset * W2 + column, value.to(cache.dtype.element_ty))


@triton.jit
def attend(
    x, order, facts, rows, ancestors, cache, out, shares, attention,
    SCALE: tl.constexpr, CAPACITY: tl.constexpr, IS_SELF: tl.constexpr, K: tl.constexpr, BEAMS: tl.constexpr,
    H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, TARGET_CAPACITY: tl.constexpr, ALIGNS: tl.constexpr,
):  # fmt: skip
    """Attend of one row to its past, whose K|V it appends to the cache, or to its source.

    A hypothesis finds the K|V of a position in the cache row of its ancestor: [slots, BEAMS, CAPACITY].
    If it ALIGNS, it writes the heads' weights, each times its share, to the row and the position of
    `attention`, [cache rows, TARGET_CAPACITY, CAPACITY], for sources that want it.
    """
    row = tl.program_id(0)
    slot = tl.load(order + row // K).to(tl.int64)
    W: tl.constexpr = H * D
    lane = tl.arange(0, H)[:, None] * D + tl.arange(0, D)[None, :]
    if IS_SELF:
        length = tl.load(facts + slot * NUM_FACTS + LENGTH)
        own_row = tl.load(rows + (slot * BEAMS + row % K) * NUM_ROW_FACTS + CACHE).to(tl.int64)
        inputs = x + row * 3 * W + lane
        query = tl.load(inputs).to(tl.float32) * SCALE
        key, value = tl.load(inputs + W), tl.load(inputs + 2 * W)
        target = cache + (own_row * CAPACITY + length) * 2 * W + lane
        tl.store(target, key.to(cache.dtype.element_ty))
        tl.store(target + W, value.to(cache.dtype.element_ty))
        largest = tl.sum(query * key.to(tl.float32), 1)
        total = tl.full([H], 1.0, tl.float32)
        mixed = value.to(tl.float32)
        first_row = own_row
    else:
        length = tl.load(facts + slot * NUM_FACTS + SOURCE_LENGTH)
        query = tl.load(x + row * W + lane).to(tl.float32) * SCALE
        largest = tl.full([H], -1e30, tl.float32)
        total = tl.zeros([H], tl.float32)
        mixed = tl.zeros([H, D], tl.float32)
        first_row = slot
    for first in range(0, length, BT):
        token = first + tl.arange(0, BT)
        inside = token < length
        if IS_SELF and K > 1:
            rank = tl.load(ancestors + (slot * BEAMS + row % K) * CAPACITY + token, mask=inside, other=0)
            where = tl.load(rows + (slot * BEAMS + rank) * NUM_ROW_FACTS + CACHE, mask=inside, other=0).to(
                tl.int64
            )
        else:
            where = tl.zeros([BT], tl.int64) + first_row
        offsets = (where * CAPACITY + token)[:, None, None] * (2 * W) + lane[None, :, :]
        inside3 = inside[:, None, None]
        keys = tl.load(cache + offsets, mask=inside3, other=0.0).to(tl.float32)
        score = tl.where(inside[:, None], tl.sum(keys * query[None, :, :], 2), -1e30)
        following = tl.maximum(largest, tl.max(score, 0))
        weight = tl.where(inside[:, None], tl.exp(score - following[None, :]), 0.0)
        shrink = tl.exp(largest - following)
        values = tl.load(cache + offsets + W, mask=inside3, other=0.0).to(tl.float32)
        total = total * shrink + tl.sum(weight, 0)
        mixed = mixed * shrink[:, None] + tl.sum(weight[:, :, None] * values, 0)
        largest = following
    tl.store(out + row * W + lane, (mixed / total[:, None]).to(out.dtype.element_ty))
    if ALIGNS:
        own_row = tl.load(rows + (slot * BEAMS + row % K) * NUM_ROW_FACTS + CACHE).to(tl.int64)
        position = tl.load(facts + slot * NUM_FACTS + LENGTH)
        target = attention + (own_row * TARGET_CAPACITY + position) * CAPACITY
        share = tl.load(shares + tl.arange(0, H)) / total
        for first in range(0, length * tl.load(facts + slot * NUM_FACTS + WANTS_ATTENTION), BT):
            token = first + tl.arange(0, BT)
            inside = token < length
            offsets = (slot * CAPACITY + token)[:, None, None] * (2 * W) + lane[None, :, :]
            keys = tl.load(cache + offsets, mask=inside[:, None, None], other=0.0).to(tl.float32)
            weight = tl.exp(tl.sum(keys * query[None, :, :], 2) - largest[None, :])
            mean = tl.sum(weight * share[None, :], 1)
            tl.store(target + token, mean.to(attention.dtype.element_ty), mask=inside)
