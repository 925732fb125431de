"""Position vectors of models whose positions are not learned."""

import math

import numpy as np
from numpy.typing import NDArray

from export.model_config import ModelConfig


def position_table(config: ModelConfig) -> NDArray[np.float32]:
    """Return the position vectors of a model without learned positions, float32 [max_positions, d]."""
    return sinusoidal_table(
        config.max_positions,
        config.d_model,
        first_position=config.first_position,
        has_exact_last_rate=config.positions == "tensor2tensor",
    )


def sinusoidal_table(
    num_positions: int, d_model: int, *, first_position: int = 0, has_exact_last_rate: bool = False
) -> NDArray[np.float32]:
    """Return sinusoidal position vectors (Vaswani et al. 2017, section 3.5), sines first, then cosines.

    The paper interleaves sines and cosines. Two halves, as in tensor2tensor and Marian, are the same up to a
    permutation of channels.

    Args:
        num_positions: number of positions in the table.
        d_model: even; above 2 with `has_exact_last_rate`.
        first_position: number of the table's first position.
        has_exact_last_rate: whether the last rate is 1 / 10000 itself, as in tensor2tensor, Marian and
            fairseq; in the paper, it is one step before that.

    Returns:
        float32 [num_positions, d_model].
    """
    half = d_model // 2
    num_steps = half - 1 if has_exact_last_rate else half
    return _sines(np.exp(np.arange(half) * (-math.log(10_000.0) / num_steps)), first_position, num_positions)


def float32_table(config: ModelConfig) -> NDArray[np.float32]:
    """Return the table as fairseq and `transformers` compute it, with float32 angles: 3e-5 off at 1000.

    Returns:
        float32 [max_positions, d].
    """
    half = config.d_model // 2
    exponents = np.arange(half, dtype=np.float32) * np.float32(-math.log(10_000.0) / (half - 1))
    rates = np.exp(exponents.astype(np.float64)).astype(np.float32)
    return _sines(rates, config.first_position, config.max_positions)


def _sines(rates: NDArray[np.floating], first_position: int, num_positions: int) -> NDArray[np.float32]:
    indices = np.arange(first_position, first_position + num_positions).astype(rates.dtype)
    angles = (indices[:, None] * rates).astype(np.float64)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
