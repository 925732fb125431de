"""Where a token stands: sinusoidal or learned position vectors."""

import math

import torch
from torch import Tensor


def sinusoidal_table(num_positions: int, d_model: int) -> Tensor:
    """Position vectors (Vaswani et al. 2017, section 3.5), sines first, then cosines.

    The paper interleaves sines and cosines; halves side by side, as in tensor2tensor and Marian, are
    the same map up to a permutation of channels.

    Returns:
        float32 [num_positions, d_model].
    """
    half = d_model // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(10_000.0) / half))
    angles = torch.arange(num_positions, dtype=torch.float64)[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(torch.float32)
