"""Top-k of many values, found through blocks of them."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.contract import Port
from export.graph.builder import GraphBuilder
from export.graph.projection import BLOCK_TOKENS, HAS_MANY_ROWS, MIN_BLOCK_ROWS, _top_k_of_vocabulary

MAX_BEST = 6


def make_session(num_values: int) -> onnxruntime.InferenceSession:
    graph = GraphBuilder("best")
    num_rows = graph.op("Shape", "values", start=0, end=1)
    is_many = graph.op("Greater", num_rows, graph.weight("few", np.array([MIN_BLOCK_ROWS - 1], np.int64)))
    graph.op("Squeeze", is_many, output=HAS_MANY_ROWS)
    _top_k_of_vocabulary(graph, "values", graph.reshape("num_best", 1), ("best", "ids"), num_values)
    inputs = (Port("values", "float32", ("R", "P")), Port("num_best", "int64", ()))
    outputs = (Port("best", "float32", ("R", "K")), Port("ids", "int64", ("R", "K")))
    model = graph.finish(inputs, outputs, {"P": num_values}).whole()
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


SESSIONS = {num_blocks: make_session(num_blocks * BLOCK_TOKENS) for num_blocks in (1, 3, 9)}
ODD = make_session(3 * BLOCK_TOKENS + 1)


def best(
    session: onnxruntime.InferenceSession, values: NDArray[np.float32], num_best: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    found = session.run(["best", "ids"], {"values": values, "num_best": np.array(num_best)})
    return found[0], found[1]


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(SESSIONS)),
    st.sampled_from([1, MIN_BLOCK_ROWS - 1, MIN_BLOCK_ROWS, 2 * MIN_BLOCK_ROWS]),
    st.integers(1, MAX_BEST),
    st.integers(1, 400),
    st.integers(0, 2**31),
)
def test_top_k_returns_the_best_values_in_order_and_the_first_of_equal_ones(
    num_blocks: int, num_rows: int, num_best: int, num_levels: int, seed: int
) -> None:
    """Few levels mean many equal values, within a block and in several."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, num_levels, (num_rows, num_blocks * BLOCK_TOKENS)).astype(np.float32)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :num_best]

    found, ids = best(SESSIONS[num_blocks], values, num_best)

    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(values, expected, axis=1))


@pytest.mark.parametrize("num_rows", [1, MIN_BLOCK_ROWS])
def test_top_k_searches_an_incomplete_last_block(num_rows: int) -> None:
    values = np.random.default_rng(1).normal(size=(num_rows, 3 * BLOCK_TOKENS + 1)).astype(np.float32)
    values[:, -1] = 9.0

    _, ids = best(ODD, values, 2)

    assert (ids[:, 0] == 3 * BLOCK_TOKENS).all()
    np.testing.assert_array_equal(ids[:, 1], values[:, :-1].argmax(axis=1))


@pytest.mark.parametrize("num_rows", [1, MIN_BLOCK_ROWS])
def test_top_k_can_return_all_values(num_rows: int) -> None:
    values = np.random.default_rng(1).normal(size=(num_rows, 3 * BLOCK_TOKENS)).astype(np.float32)

    found, _ = best(SESSIONS[3], values, 3 * BLOCK_TOKENS)

    np.testing.assert_array_equal(found, -np.sort(-values, axis=1))
