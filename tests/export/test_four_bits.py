"""Weights in 4 bits: onnxruntime reads what is packed, and rounding loses as little as possible."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from onnx import TensorProto, helper

from export.activation_ranges import Calibration
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision import Int4
from export.graph.precision.four_bits import (
    BLOCK_SIZE,
    HIGHEST,
    LOWEST,
    QuantisedBlocks,
    best_scales,
    round_to_blocks,
)

Floats = NDArray[np.float64]
INPUTS = [64, 40, 33, 8]
"""Whole blocks, a short last one, an odd number, less than a block."""


def normal(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def correlated(count: int, num_inputs: int) -> NDArray[np.float32]:
    """Inputs whose channels move together and are of very different size, as activations are."""
    few = normal(count, num_inputs // 8, seed=1) @ normal(num_inputs // 8, num_inputs, seed=2)
    sizes = np.geomspace(0.1, 10, num_inputs, dtype=np.float32)
    inputs: NDArray[np.float32] = (few + 0.3 * normal(count, num_inputs, seed=3)) * sizes
    return inputs


def moments_of(inputs: NDArray[np.float32]) -> Floats:
    return (inputs.T @ inputs).astype(np.float64) / len(inputs)


def rounded_alone(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each weight to its nearest level, by the largest magnitude of its block."""
    blocks = weight.reshape(len(weight), -1, BLOCK_SIZE)
    scales = np.abs(blocks).max(axis=2, keepdims=True) / HIGHEST
    dequantise: NDArray[np.float32] = np.clip(np.round(blocks / scales), LOWEST, HIGHEST) * scales
    return dequantise.reshape(weight.shape)


@pytest.mark.parametrize("num_inputs", INPUTS)
def test_each_4_bit_level_is_packed_at_its_position(num_inputs: int) -> None:
    """Read back by hand: lower half first, 8 stands for nothing, the last block filled up with that."""
    blocks = round_to_blocks(normal(6, num_inputs), np.eye(num_inputs))
    packed = blocks.packed()

    halves = np.stack([packed & 15, packed >> 4], axis=-1).reshape(6, -1).astype(int) - 8

    assert packed.shape == (6, -(-num_inputs // BLOCK_SIZE), BLOCK_SIZE // 2)
    np.testing.assert_array_equal(halves[:, :num_inputs], blocks.levels)
    assert not halves[:, num_inputs:].any()


@pytest.mark.parametrize("num_inputs", INPUTS)
def test_onnxruntime_multiplies_by_the_dequantised_weight(num_inputs: int) -> None:
    """Inputs of whole numbers with 127 in each block are not rounded, so both must agree."""
    weight, bias = normal(6, num_inputs), normal(6, seed=1)
    values = np.random.default_rng(2).integers(-127, 128, (5, num_inputs)).astype(np.float32)
    values[:, ::BLOCK_SIZE] = 127
    graph = GraphBuilder("map")
    calibration = Calibration({}, {"some": np.eye(num_inputs)})
    found = Int4(calibration).linear(graph, "values", [("some", weight, bias)])

    result = run(graph, found, values)

    dequantise = round_to_blocks(weight, np.eye(num_inputs)).dequantise()
    np.testing.assert_allclose(result, values @ dequantise.T + bias, rtol=1e-4, atol=1e-3)


def run(graph: GraphBuilder, output: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    graph.op("Identity", output, output="result")
    model = graph.finish((), (), {}).whole()
    model.graph.input.append(helper.make_tensor_value_info("values", TensorProto.FLOAT, None))
    model.graph.output.append(helper.make_tensor_value_info("result", TensorProto.FLOAT, None))
    assert model.graph.node[0].domain == CONTRIB
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"values": values})
    found: NDArray[np.float32] = result
    return found


ROWS = arrays.arrays(np.float64, (3, 8), elements=st.floats(-1e3, 1e3, width=32))
IMPORTANCE = arrays.arrays(np.float64, 8, elements=st.floats(0.01, 100))


@given(block=ROWS, importance=IMPORTANCE)
def test_a_clipping_scale_is_never_worse_than_one_without_clipping(block: Floats, importance: Floats) -> None:
    def error(scale: Floats) -> Floats:
        levels = np.clip(np.round(block / scale[:, None]), LOWEST, HIGHEST)
        found: Floats = (importance * (levels * scale[:, None] - block) ** 2).sum(axis=1)
        return found

    whole = np.maximum(np.abs(block).max(axis=1) / HIGHEST, 1e-10)

    assert (error(best_scales(block, importance)) <= error(whole) * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize(("importance_of_outlier", "least", "most"), [(1e-3, 0.0, 6.0), (1e3, 10.2, 13.8)])
def test_an_outlier_among_small_weights_is_clipped_unless_it_is_important(
    importance_of_outlier: float, least: float, most: float
) -> None:
    block = np.append(np.random.default_rng(4).normal(0, 1, 31), 12.0)[None].astype(np.float64)
    importance = np.ones(32)
    importance[31] = importance_of_outlier

    (scale,) = np.abs(best_scales(block, importance))

    assert least < scale * -LOWEST < most


def test_weights_that_are_already_levels_do_not_change() -> None:
    levels = np.random.default_rng(5).integers(LOWEST, HIGHEST + 1, (4, 2 * BLOCK_SIZE)).astype(np.int8)
    levels[:, ::BLOCK_SIZE] = LOWEST
    scales = np.array([[0.5, 0.25], [1.0, 2.0], [-0.5, 4.0], [8.0, -0.125]], np.float32)
    weight = QuantisedBlocks(levels, scales).dequantise()

    blocks = round_to_blocks(weight, moments_of(correlated(500, 2 * BLOCK_SIZE)))

    np.testing.assert_array_equal(blocks.levels, levels)
    np.testing.assert_array_equal(blocks.scales, scales)


def test_later_channels_compensate_the_rounding_of_earlier_ones() -> None:
    """On inputs like those seen the results are twice as near as with each weight on its own."""
    weight, inputs = normal(32, 128), correlated(2000, 128)

    blocks = round_to_blocks(weight, moments_of(inputs[:1000]))

    def error(dequantise: NDArray[np.float32]) -> float:
        return float(np.mean((inputs[1000:] @ (dequantise - weight).T) ** 2))

    assert error(blocks.dequantise()) < error(rounded_alone(weight)) / 2


def test_channels_that_were_always_zero_are_rounded_to_nearest() -> None:
    """A ReLU that is never active leaves zeros in its row and column of the moments."""
    weight, inputs = normal(8, 64), correlated(100, 64)
    inputs[:, 10:40] = 0

    for moments in (moments_of(inputs), np.zeros((64, 64))):
        errors = np.abs(round_to_blocks(weight, moments).dequantise() - weight)

        assert errors.max() < np.abs(weight).max() / 2
        assert np.median(errors) < 0.15


def test_an_all_zero_block_stays_zero() -> None:
    weight = normal(4, 64)
    weight[1, :32] = 0

    assert not round_to_blocks(weight, np.eye(64)).dequantise()[1, :32].any()
