"""The loss of an output projection against PyTorch's own cross-entropy of all logits."""

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


def gradients(parts: tuple[Tensor, ...], targets: Tensor, smoothing: float) -> tuple[Tensor, list[Tensor]]:
    states, weight, bias = leaves = [part.clone().requires_grad_() for part in parts]
    result = linear_cross_entropy(states, weight, bias, targets, smoothing)
    return result.detach(), list(torch.autograd.grad(3.0 * result, leaves))


def reference(parts: tuple[Tensor, ...], targets: Tensor, smoothing: float) -> tuple[Tensor, list[Tensor]]:
    states, weight, bias = leaves = [part.clone().requires_grad_() for part in parts]
    logits = functional.linear(states, weight, bias)
    result = functional.cross_entropy(logits, targets, label_smoothing=smoothing)
    return result.detach(), list(torch.autograd.grad(3.0 * result, leaves))


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
        found, found_gradients = gradients(parts, targets, smoothing)

    expected, expected_gradients = reference(parts, targets, smoothing)

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_gradients, expected_gradients, rtol=1e-4, atol=1e-5)


def test_bfloat16_states_give_gradients_within_its_rounding() -> None:
    (states, weight, bias), targets = inputs(200, seed=1)

    found, found_gradients = gradients((states.bfloat16(), weight, bias), targets, 0.1)

    expected, expected_gradients = reference((states, weight, bias), targets, 0.1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.01, atol=0)
    for own, theirs, leaf in zip(
        found_gradients, expected_gradients, (states.bfloat16(), weight, bias), strict=True
    ):
        assert own.dtype == leaf.dtype
        assert (own.float() - theirs).norm() < 0.02 * theirs.norm()


def test_a_token_without_probability_has_a_finite_loss_and_the_right_gradient() -> None:
    (states, weight, bias), targets = inputs(5, seed=2)
    bias[targets[0]] = -1000.0

    found, found_gradients = gradients((states, weight, bias), targets, 0.0)

    assert found.isfinite()
    _, expected = reference((states, weight, bias), targets, 0.0)
    torch.testing.assert_close(found_gradients, expected, rtol=1e-4, atol=1e-5)


def test_a_sample_estimates_the_sum_below_the_softmax_without_bias() -> None:
    (states, weight, bias), targets = inputs(1, seed=3)
    exact = linear_cross_entropy(states, weight, bias, targets, 0.1)
    torch.manual_seed(4)

    found = torch.stack([sampled_cross_entropy(states, weight, bias, targets, 0.1, 12) for _ in range(3000)])

    assert found.std() > 0.01
    torch.testing.assert_close((found - exact).exp().mean().item(), 1.0, rtol=0.02, atol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_sampled_loss_and_its_gradients_are_those_of_weighted_logits(smoothing: float) -> None:
    (states, weight, bias), targets = inputs(20, seed=5)
    own = [part.clone().requires_grad_() for part in (states, weight, bias)]
    torch.manual_seed(6)
    found = sampled_cross_entropy(own[0], own[1], own[2], targets, smoothing, 10)

    theirs = [part.clone().requires_grad_() for part in (states, weight, bias)]
    logits = functional.linear(*theirs)
    others = sorted(set(range(VOCABULARY)) - set(targets.tolist()))
    torch.manual_seed(6)
    drawn = [others[i] for i in torch.randperm(len(others))[:10]]
    weights = torch.ones(VOCABULARY)
    weights[others] = 0.0
    weights[drawn] = len(others) / 10
    log_sums = (weights * logits.exp()).sum(dim=1).log()
    of_targets = logits[torch.arange(20), targets]
    expected = (log_sums - (1 - smoothing) * of_targets - smoothing * logits.mean(dim=1)).mean()

    torch.testing.assert_close(found, expected)
    gradients_found, gradients_expected = (
        torch.autograd.grad(found, own),
        torch.autograd.grad(expected, theirs),
    )
    torch.testing.assert_close(gradients_found, gradients_expected, rtol=1e-4, atol=1e-6)
