"""Balancing moves ranges between layers and changes nothing else."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.contract import Autoregression
from export.balance import balance_caches, balance_feed_forward, feed_forwards
from export.calibration import Sample, translate_samples
from export.model import Transformer
from export.model_config import Activation
from export.model_weights import Floats, ModelWeights
from tests.imports.parity.random_bundles import random_model as random_translation_model

SAMPLES = [Sample([*range(4, 4 + length), 3], (2,)) for length in (3, 8, 15, 30)]


def random_model(**shape: Any) -> ModelWeights:
    return random_translation_model(shape).to_weights()


def cache_steps(model: ModelWeights) -> dict[str, Floats]:
    _, steps = translate_samples(model, SAMPLES)
    return steps


def logits(weights: ModelWeights) -> torch.Tensor:
    model = Transformer.from_weights(weights)
    ids = torch.tensor([[5, 9, 30, 3], [8, 3, 0, 0]])
    targets = torch.tensor([[2, 7, 11], [2, 30, 31]])
    with torch.inference_mode():
        return model.logits(model(ids, ids != 0, targets))


@pytest.mark.parametrize("autoregression", ["attention", "ssru"])
@pytest.mark.parametrize("share_kv", [False, True])
def test_balancing_keeps_the_function_of_a_model(*, share_kv: bool, autoregression: Autoregression) -> None:
    model = random_model(share_kv=share_kv, autoregression=autoregression)
    before = logits(model)

    balanced = balance_caches(model, cache_steps(model))

    torch.testing.assert_close(logits(balanced), before, atol=1e-4, rtol=1e-4)
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize(("autoregression", "kinds"), [("attention", 2), ("ssru", 1)])
@pytest.mark.parametrize("share_kv", [False, True])
def test_balancing_gives_all_channels_the_same_quantisation_step(
    *, share_kv: bool, autoregression: Autoregression, kinds: int
) -> None:
    model = random_model(share_kv=share_kv, autoregression=autoregression)
    balanced = balance_caches(model, cache_steps(model))

    steps = cache_steps(balanced)

    assert len(steps) == kinds * (2 if share_kv else 4)
    for channels in steps.values():
        np.testing.assert_allclose(channels, 1.0, rtol=1e-3)


def test_a_balanced_feed_forward_computes_the_same_function() -> None:
    model = random_model()
    before = logits(model)

    balanced = balance_feed_forward(model)

    torch.testing.assert_close(logits(balanced), before, atol=1e-4, rtol=1e-4)
    assert torch.equal(logits(model), before)
    assert feed_forwards(balanced) == [
        f"{stack}.{layer}.feed_forward" for stack in ("encoder", "decoder") for layer in (0, 1)
    ]
    for name in feed_forwards(balanced):
        largest = np.abs(balanced.weights[f"{name}.inner.weight"]).max(axis=1)
        np.testing.assert_allclose(largest, largest.max(), rtol=1e-6)


def test_balancing_keeps_a_row_of_zeros() -> None:
    model = random_model()
    name = feed_forwards(model)[0]
    weight, bias = (array.copy() for array in model.linear(f"{name}.inner"))
    weight[3], bias[3] = 0.0, 0.0
    model = model.with_weights({f"{name}.inner.weight": weight, f"{name}.inner.bias": bias})

    balanced = balance_feed_forward(model).weights

    assert not balanced[f"{name}.inner.weight"][3].any()
    assert np.isfinite(balanced[f"{name}.outer.weight"]).all()


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "quick_gelu", "swish"])
def test_a_feed_forward_without_relu_is_not_balanced(activation: Activation) -> None:
    model = random_model(activation=activation)

    balanced = balance_feed_forward(model)

    for name in model.weights:
        assert balanced.weights[name] is model.weights[name]


def test_only_weights_that_change_are_copied() -> None:
    """A vocabulary's table may be most of the model."""
    model = random_model()

    for balanced in (balance_caches(model, cache_steps(model)), balance_feed_forward(model)):
        for name in model.weights:
            is_shared = balanced.weights[name] is model.weights[name]
            assert is_shared or "attention" in name or "feed_forward" in name
        assert balanced.weights["source_embedding.weight"] is model.weights["source_embedding.weight"]
