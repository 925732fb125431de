"""The loss of an output projection against PyTorch's own cross-entropy of all logits."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from training import loss
from training.loss import linear_cross_entropy, sampled_cross_entropy

VOCABULARY, WIDTH = 37, 16


def inputs(num_tokens: int, seed: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """States, weight and bias, and targets."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((num_tokens, WIDTH), (VOCABULARY, WIDTH), (VOCABULARY,))
    states, weight, bias = (torch.randn(shape, generator=generator) for shape in shapes)
    return (states, weight, bias), torch.randint(VOCABULARY, (num_tokens,), generator=generator)


def with_gradients(
    make_loss: Callable[..., Tensor], parts: tuple[Tensor, ...], *arguments: Any
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A loss, and three times its gradients by states, weight and bias."""
    leaves = [part.clone().requires_grad_() for part in parts]
    result = make_loss(*leaves, *arguments)
    return result.detach(), torch.autograd.grad(3.0 * result, leaves)


def reference(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    logits = functional.linear(states, weight, bias)
    return functional.cross_entropy(logits, targets, label_smoothing=smoothing)


@given(
    num_tokens=st.integers(1, 40),
    chunks=st.sampled_from([(1, 1), (4, 8), (3, 12), (16, 16), (64, 64)]),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_loss_and_gradients_equal_those_of_all_logits_at_once(
    num_tokens: int, chunks: tuple[int, int], smoothing: float, seed: int
) -> None:
    parts, targets = inputs(num_tokens, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "CHUNK_TOKENS", chunks[0])
        patch.setattr(loss, "SUM_TOKENS", chunks[1])
        found, found_gradients = with_gradients(linear_cross_entropy, parts, targets, smoothing)

    expected, expected_gradients = with_gradients(reference, parts, targets, smoothing)

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_gradients, expected_gradients, rtol=1e-4, atol=1e-5)


def test_bfloat16_states_give_gradients_within_its_rounding() -> None:
    (states, weight, bias), targets = inputs(200, seed=1)
    halved = (states.bfloat16(), weight, bias)

    found, found_gradients = with_gradients(linear_cross_entropy, halved, targets, 0.1)

    expected, expected_gradients = with_gradients(reference, (states, weight, bias), targets, 0.1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.01, atol=0)
    for own, theirs, leaf in zip(found_gradients, expected_gradients, halved, strict=True):
        assert own.dtype == leaf.dtype
        assert (own.float() - theirs).norm() < 0.02 * theirs.norm()


def test_a_token_without_probability_has_a_finite_loss_and_the_right_gradient() -> None:
    (states, weight, bias), targets = inputs(5, seed=2)
    bias[targets[0]] = -1000.0

    found, found_gradients = with_gradients(linear_cross_entropy, (states, weight, bias), targets, 0.0)

    assert found.isfinite()
    _, expected = with_gradients(reference, (states, weight, bias), targets, 0.0)
    torch.testing.assert_close(found_gradients, expected, rtol=1e-4, atol=1e-5)


def test_a_sample_estimates_the_sum_below_the_softmax_without_bias() -> None:
    (states, weight, bias), targets = inputs(1, seed=3)
    exact = linear_cross_entropy(states, weight, bias, targets, 0.1)
    torch.manual_seed(4)

    found = torch.stack([sampled_cross_entropy(states, weight, bias, targets, 0.1, 12) for _ in range(1000)])

    assert found.std() > 0.01
    torch.testing.assert_close((found - exact).exp().mean().item(), 1.0, rtol=0.03, atol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_sampled_loss_and_its_gradients_are_those_of_weighted_logits(smoothing: float) -> None:
    parts, targets = inputs(20, seed=5)
    torch.manual_seed(6)
    found = with_gradients(sampled_cross_entropy, parts, targets, smoothing, 10)

    others = sorted(set(range(VOCABULARY)) - set(targets.tolist()))
    torch.manual_seed(6)
    drawn = [others[i] for i in torch.randperm(len(others))[:10]]
    weights = torch.ones(VOCABULARY)
    weights[others] = 0.0
    weights[drawn] = len(others) / 10

    def of_weighted_logits(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        logits = functional.linear(states, weight, bias)
        log_sums = (weights * logits.exp()).sum(dim=1).log()
        of_targets = logits[torch.arange(20), targets]
        return (log_sums - (1 - smoothing) * of_targets - smoothing * logits.mean(dim=1)).mean()

    torch.testing.assert_close(found, with_gradients(of_weighted_logits, parts), rtol=1e-4, atol=1e-6)
