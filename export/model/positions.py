"""Position vectors of models whose positions are not learned."""

import math

import torch
from torch import Tensor

from export.model.config import ModelConfig


def position_table(config: ModelConfig) -> Tensor:
    """Return the position vectors of a model without learned positions, float32 [max_positions, d]."""
    return sinusoidal_table(
        config.max_positions,
        config.d_model,
        first_position=config.first_position,
        has_exact_last_rate=config.positions == "tensor2tensor",
    )


def sinusoidal_table(
    num_positions: int, d_model: int, *, first_position: int = 0, has_exact_last_rate: bool = False
) -> Tensor:
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
        float32 [num_positions, d_model], on the CPU.
    """
    half = d_model // 2
    num_steps = half - 1 if has_exact_last_rate else half
    cpu = torch.device("cpu")  # the table is computed even where weights are on the meta device
    rates = torch.exp(torch.arange(half, dtype=torch.float64, device=cpu) * (-math.log(10_000.0) / num_steps))
    places = torch.arange(first_position, first_position + num_positions, dtype=torch.float64, device=cpu)
    angles = places[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(torch.float32)
