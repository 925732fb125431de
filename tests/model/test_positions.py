"""Sinusoidal position vectors against their formula."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.model import ModelConfig
from export.positions import position_table


@pytest.mark.parametrize("positions", ["sinusoidal", "tensor2tensor"])
@given(half=st.integers(2, 40), first=st.integers(0, 3), position=st.integers(0, 300), data=st.data())
def test_every_entry_is_the_sine_or_cosine_of_position_over_a_power_of_ten_thousand(
    positions: str, half: int, first: int, position: int, data: st.DataObject
) -> None:
    """The last rate of tensor2tensor's get_timing_signal_1d is 1 in 10,000, as in Marian and fairseq."""
    channel = data.draw(st.integers(0, half - 1))
    shape: dict[str, Any] = {"positions": positions, "first_position": first, "max_positions": position + 1}
    angle = (first + position) / 10_000 ** (channel / (half - (positions == "tensor2tensor")))

    table = position_table(ModelConfig(4, 4, d_model=2 * half, heads=1, **shape))

    assert table.shape == (position + 1, 2 * half)
    assert table.dtype == np.float32
    assert math.isclose(table[position, channel].item(), math.sin(angle), abs_tol=1e-6)
    assert math.isclose(table[position, half + channel].item(), math.cos(angle), abs_tol=1e-6)
