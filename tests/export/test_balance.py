"""Balancing moves ranges between maps and changes nothing else."""

import dataclasses

import numpy as np
import pytest
import torch

from export.balance import balance_caches, balance_feed_forward, feed_forwards
from export.calibration import cache_steps
from export.model import ModelConfig, Transformer

SHAPE = ModelConfig(
    source_vocab_size=40,
    target_vocab_size=40,
    encoder_layers=2,
    decoder_layers=2,
    d_model=24,
    heads=3,
    ffn=48,
    max_positions=40,
    dropout=0.0,
)
SOURCES = [[*range(4, 4 + length), 3] for length in (3, 8, 15, 30)]


def random_model(*, share_kv: bool) -> Transformer:
    torch.manual_seed(4)
    model = Transformer(dataclasses.replace(SHAPE, share_kv=share_kv)).eval()
    for parameter in model.parameters():  # biases begin at zero, norms at one: neither would be noticed
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def logits(model: Transformer) -> torch.Tensor:
    ids = torch.tensor([[5, 9, 30, 3], [8, 3, 0, 0]])
    targets = torch.tensor([[2, 7, 11], [2, 30, 31]])
    with torch.inference_mode():
        return model.logits(model(ids, ids != 0, targets))


@pytest.mark.parametrize("share_kv", [False, True])
def test_a_balanced_model_is_the_same_function(*, share_kv: bool) -> None:
    model = random_model(share_kv=share_kv)
    before = logits(model)

    balanced = balance_caches(model, cache_steps(model, SOURCES))

    torch.testing.assert_close(logits(balanced), before, atol=1e-4, rtol=1e-4)
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize("share_kv", [False, True])
def test_one_step_then_serves_all_channels(*, share_kv: bool) -> None:
    model = random_model(share_kv=share_kv)
    balanced = balance_caches(model, cache_steps(model, SOURCES))

    steps = cache_steps(balanced, SOURCES)

    assert len(steps) == (4 if share_kv else 8)
    for channels in steps.values():
        np.testing.assert_allclose(channels, 1.0, rtol=1e-3)


def test_a_balanced_feed_forward_is_the_same_function_with_one_largest_weight() -> None:
    model = random_model(share_kv=False)
    before = logits(model)

    balanced = balance_feed_forward(model)

    torch.testing.assert_close(logits(balanced), before, atol=1e-4, rtol=1e-4)
    assert torch.equal(logits(model), before)
    for feed_forward in feed_forwards(balanced):
        largest = feed_forward.inner.weight.abs().amax(dim=1)
        torch.testing.assert_close(largest, largest.max().expand_as(largest))


def test_a_row_of_zeros_stays_one() -> None:
    model = random_model(share_kv=False)
    inner = feed_forwards(model)[0].inner
    with torch.no_grad():
        inner.weight[3] = 0.0
        inner.bias[3] = 0.0

    balanced = feed_forwards(balance_feed_forward(model))[0]

    assert not balanced.inner.weight[3].any()
    assert torch.isfinite(balanced.outer.weight).all()


def test_other_activations_let_no_factor_pass() -> None:
    torch.manual_seed(4)
    model = Transformer(dataclasses.replace(SHAPE, activation="gelu")).eval()

    balanced = balance_feed_forward(model)

    for ours, theirs in zip(balanced.parameters(), model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
