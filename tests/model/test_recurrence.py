"""The recurrent decoder against its equations in numpy, and against itself step by step."""

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import nn

from export.model import ModelConfig, Transformer
from export.model.recurrence import Ssru

Floats = NDArray[np.float64]


def numpy_ssru(unit: Ssru, inputs: Floats, cell: Floats) -> tuple[Floats, Floats]:
    """One vector after another: inputs [T, d] and cell [d] to results [T, d] and the last cell."""
    weight, forget_weight, forget_bias = (
        tensor.detach().double().numpy()
        for tensor in (unit.cell.weight, unit.forget.weight, unit.forget.bias)
    )
    results = []
    for vector in inputs:
        gate = 1 / (1 + np.exp(-(forget_weight @ vector + forget_bias)))
        cell = gate * cell + (1 - gate) * (weight @ vector)
        results.append(np.maximum(cell, 0))
    return np.array(results), cell


def random_unit(width: int, seed: int) -> Ssru:
    torch.manual_seed(seed)
    unit = Ssru(width)
    for parameter in unit.parameters():
        nn.init.normal_(parameter)
    return unit


@given(
    width=st.integers(1, 9),
    num_rows=st.integers(1, 3),
    length=st.integers(1, 7),
    goes_on=st.booleans(),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60)
def test_the_recurrent_unit_computes_its_equations(
    width: int, num_rows: int, length: int, *, goes_on: bool, seed: int
) -> None:
    unit = random_unit(width, seed)
    inputs, past = torch.randn(num_rows, length, width), torch.randn(num_rows, width)

    results, cells = unit(inputs, past if goes_on else None)

    for row in range(num_rows):
        begin = past[row].double().numpy() if goes_on else np.zeros(width)
        expected, cell = numpy_ssru(unit, inputs[row].double().numpy(), begin)
        np.testing.assert_allclose(results[row].detach(), expected, atol=1e-5)
        np.testing.assert_allclose(cells[row].detach(), cell, atol=1e-5)


def test_a_decoder_layer_with_a_recurrent_unit_has_no_self_attention() -> None:
    """With the source and the feed-forward silenced, a post-norm layer is a sum, the unit and three norms."""
    torch.manual_seed(2)
    shape: dict[str, Any] = {"norm": "post", "autoregression": "ssru"}
    config = ModelConfig(9, 9, encoder_layers=1, decoder_layers=1, d_model=8, heads=2, ffn=6, **shape)
    model = Transformer(config).eval()
    (layer,) = model.decoder_layers()
    for linear in (layer.cross_attention.output, layer.feed_forward.outer):
        nn.init.zeros_(linear.weight)
    source, targets = torch.tensor([[5, 3]]), torch.tensor([[2, 7, 4, 6]])
    embedded = model.target_embedding(targets) * 8**0.5 + model.position_table[:4]

    states = model(source, torch.ones_like(source, dtype=torch.bool), targets)

    output, _ = numpy_ssru(layer.self_recurrence, embedded[0].detach().double().numpy(), np.zeros(8))
    expected = embedded[0].detach().double().numpy() + output
    for _ in range(3):
        expected = (expected - expected.mean(1, keepdims=True)) / np.sqrt(
            expected.var(1, keepdims=True) + 1e-5
        )
    np.testing.assert_allclose(states[0].detach(), expected, atol=1e-4)
