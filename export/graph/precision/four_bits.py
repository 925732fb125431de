"""Weights rounded to 4 bits in blocks that share a scale, in the format of onnxruntime's `MatMulNBits`.

A layer's input channels are rounded one after another, and later channels compensate for each error: GPTQ,
Frantar et al. 2022 (arXiv 2210.17323). Shapes: N outputs, K inputs, B blocks of a row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_SIZE = 32
"""Number of neighbouring inputs that share a scale. With longer blocks, `MatMulNBits` sums up a single row in
another order than one of several rows, and the results differ in the last bit."""
ZERO = 8
"""Level, of 0 to 15, that represents 0.0."""
LOWEST, HIGHEST = -8, 7
CLIPS = np.linspace(1.0, 0.4, 25)
"""Clips to try for a scale, as shares of a block's largest magnitude."""
SMALLEST_SCALE = 1e-10
"""Replacement for the scale of an all-zero block, which has none."""
DAMPING = 0.01
"""Share of the channels' average mean square that is added to each: keeps rarely active channels bounded."""

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuantisedBlocks:
    """A weight in 4 bits."""

    levels: NDArray[np.int8]
    """Levels from -8 to 7, [N, K]."""
    scales: NDArray[np.float32]
    """Scales, [N, B]; a negative one puts positive weights on negative levels, which reach further."""

    def dequantise(self) -> NDArray[np.float32]:
        """Return the weight that the levels represent, [N, K]."""
        scales = self.scales.repeat(BLOCK_SIZE, axis=1)[:, : self.levels.shape[1]]
        return self.levels * scales

    def packed(self) -> NDArray[np.uint8]:
        """Return two levels per byte, the first in the lower half, [N, B, 16]; zeros pad the last block."""
        num_rows, num_inputs = self.levels.shape
        filled = np.full((num_rows, self.scales.shape[1] * BLOCK_SIZE), ZERO, np.uint8)
        filled[:, :num_inputs] = self.levels + ZERO
        low, high = filled[:, 0::2], filled[:, 1::2]
        packed: NDArray[np.uint8] = (low | high << 4).reshape(num_rows, -1, BLOCK_SIZE // 2)
        return packed


def round_to_blocks(weight: NDArray[np.float32], moments: NDArray[np.floating[Any]]) -> QuantisedBlocks:
    """Return the levels and scales that change a layer's results the least on inputs like those measured.

    Args:
        weight: [N, K].
        moments: mean of x xᵀ over the layer's inputs x, [K, K].
    """
    num_inputs = weight.shape[1]
    factor = _inverse_factor(moments.astype(np.float64))
    importance = np.diag(factor) ** -2  # cost of an error after all later channels have compensated for it
    remaining = weight.astype(np.float64)
    levels = np.zeros(weight.shape, np.int8)
    scales = []
    for begin in range(0, num_inputs, BLOCK_SIZE):
        end = min(begin + BLOCK_SIZE, num_inputs)
        scale = best_scales(remaining[:, begin:end], importance[begin:end])
        errors = np.zeros((len(weight), end - begin))
        for channel in range(begin, end):
            rounded = _round(remaining[:, channel], scale)
            lost = (remaining[:, channel] - rounded * scale) / factor[channel, channel]
            remaining[:, channel + 1 : end] -= np.outer(lost, factor[channel, channel + 1 : end])
            levels[:, channel], errors[:, channel - begin] = rounded, lost
        remaining[:, end:] -= errors @ factor[begin:end, end:]
        scales.append(scale)
    return QuantisedBlocks(levels, np.stack(scales, axis=1).astype(np.float32))


def best_scales(block: Reals, importance: Reals) -> Reals:
    """Return the scale of each row with the least squared error of rounding and clipping, [N].

    Args:
        block: [N, channels of the block].
        importance: weight of each channel's squared error.
    """
    largest_index = np.abs(block).argmax(axis=1, keepdims=True)
    largest = np.take_along_axis(block, largest_index, axis=1)[:, 0]
    best, least = np.zeros(len(block)), np.full(len(block), np.inf)
    for reach in (LOWEST, HIGHEST):
        for clip in CLIPS:
            scale = largest * clip / reach
            scale[np.abs(scale) < SMALLEST_SCALE] = SMALLEST_SCALE
            dequantise = _round(block, scale[:, None]) * scale[:, None]
            error = (importance * (dequantise - block) ** 2).sum(axis=1)
            best = np.where(error < least, scale, best)
            least = np.minimum(error, least)
    return best


def _round(values: Reals, scale: Reals) -> Reals:
    rounded: Reals = np.clip(np.round(values / scale), LOWEST, HIGHEST)
    return rounded


def _inverse_factor(moments: Reals) -> Reals:
    """Return the upper triangular U with Uᵀ U the inverse of the damped moments, [K, K]."""
    damping = max(DAMPING * float(np.mean(np.diag(moments))), SMALLEST_SCALE)
    inverse = np.linalg.inv(moments + damping * np.eye(len(moments)))
    upper: Reals = np.linalg.cholesky(inverse).T
    return upper
