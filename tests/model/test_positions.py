"""Sinusoidal position vectors against their formula."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from export.model import ModelConfig
from export.positions import position_table, sinusoidal_table


@given(half=st.integers(1, 40), position=st.integers(0, 300), data=st.data())
def test_every_entry_is_the_sine_or_cosine_of_position_over_a_power_of_ten_thousand(
    half: int, position: int, data: st.DataObject
) -> None:
    channel = data.draw(st.integers(0, half - 1))
    angle = position / 10_000 ** (2 * channel / (2 * half))

    table = sinusoidal_table(position + 1, 2 * half)

    assert table.shape == (position + 1, 2 * half)
    assert table.dtype == np.float32
    assert math.isclose(table[position, channel].item(), math.sin(angle), abs_tol=1e-6)
    assert math.isclose(table[position, half + channel].item(), math.cos(angle), abs_tol=1e-6)


@given(half=st.integers(2, 40), first=st.integers(0, 3), position=st.integers(0, 300), data=st.data())
def test_the_last_rate_of_tensor2tensor_positions_is_one_in_ten_thousand(
    half: int, first: int, position: int, data: st.DataObject
) -> None:
    """As tensor2tensor's get_timing_signal_1d has them; Marian and fairseq do the same."""
    channel = data.draw(st.integers(0, half - 1))
    config = ModelConfig(
        4,
        4,
        d_model=2 * half,
        heads=1,
        positions="tensor2tensor",
        first_position=first,
        max_positions=position + 1,
    )
    angle = (first + position) * math.exp(-channel * math.log(10_000.0) / (half - 1))

    table = position_table(config)

    assert table.shape == (position + 1, 2 * half)
    assert math.isclose(table[position, channel].item(), math.sin(angle), abs_tol=1e-6)
    assert math.isclose(table[position, half + channel].item(), math.cos(angle), abs_tol=1e-6)
