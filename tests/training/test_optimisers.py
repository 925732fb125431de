"""Optimisers, their schedule, and the loss against PyTorch's own."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from export.model import ModelConfig, Transformer
from training import loss
from training.batches import Batch
from training.config import OptimisationSettings
from training.loss import linear_cross_entropy, sampled_cross_entropy
from training.module import TranslationModule, dropout_seed
from training.optimisers import learning_rate_factor, make_optimiser, orthogonalised
from training.parallel import ProcessGroup
from training.stopping import StopRequest

SHAPE = ModelConfig(
    20, 20, encoder_layers=1, decoder_layers=1, d_model=8, heads=2, ffn=12, max_positions=9, dropout=0.0
)
MUON = OptimisationSettings(optimizer="muon", learning_rate=0.01, weight_decay=0.02)


def tiny_model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(SHAPE)


def random_batch(seed: int, widths: tuple[int, int] = (5, 4)) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, 20, (3, widths[0]), generator=generator)
    target = torch.randint(4, 20, (3, widths[1]), generator=generator)
    return Batch(
        source, torch.ones_like(source, dtype=torch.bool), target.roll(1), target, torch.ones_like(target) > 0
    )


def module_of(model: Transformer, settings: OptimisationSettings = MUON) -> TranslationModule:
    return TranslationModule(model, settings, ProcessGroup(0, 1), StopRequest())


def make_step(model: Transformer, optimiser: torch.optim.Optimizer, seed: int) -> None:
    optimiser.zero_grad()
    torch.autograd.backward(module_of(model).training_step(random_batch(seed), 0))
    optimiser.step()


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize(
    "shape", [{}, {"shared_vocab": False}, {"tied_output": False, "positions": "learned"}], ids=str
)
def test_every_parameter_belongs_to_exactly_one_group(optimizer: str, shape: dict[str, Any]) -> None:
    model = Transformer(ModelConfig(20, 20, encoder_layers=1, decoder_layers=1, d_model=8, heads=2, **shape))

    optimiser = make_optimiser(model, OptimisationSettings.model_validate({"optimizer": optimizer}))

    held = [id(parameter) for group in optimiser.param_groups for parameter in group["params"]]
    assert len(held) == len(set(held))
    assert set(held) == {id(parameter) for parameter in model.parameters()}


def test_muon_updates_matrices_and_adamw_all_other_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}
    )  # as PyTorch always does
    model = tiny_model()
    reference = copy.deepcopy(model)
    matrices = {f"{name}.weight" for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    named = dict(reference.named_parameters())
    muon: torch.optim.Optimizer = torch.optim.Muon(
        [named[name] for name in named if name in matrices],
        lr=MUON.learning_rate,
        weight_decay=MUON.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    adamw: torch.optim.Optimizer = torch.optim.AdamW(
        [named[name] for name in named if name not in matrices],
        lr=MUON.learning_rate,
        weight_decay=MUON.weight_decay,
        betas=(0.9, 0.98),
        eps=1e-9,
    )
    optimiser = make_optimiser(model, MUON)

    for seed in range(2):
        make_step(model, optimiser, seed)
        torch.autograd.backward(module_of(reference).training_step(random_batch(seed), 0))
        for part in (muon, adamw):
            part.step()
            part.zero_grad()

    optimiser.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert "source_embedding.weight" in named  # tied three ways, moved once
    torch.testing.assert_close(model.state_dict(), reference.state_dict(), atol=0.0, rtol=0.0)


@pytest.mark.parametrize("shape", [(6, 6), (4, 30), (30, 4)])
def test_an_update_is_orthogonalised_in_float32_where_the_processor_has_no_bfloat16(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))

    found = orthogonalised(matrix[None])[0]

    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    in_its_directions = torch.diagonal(left.T @ found @ right.T)
    assert found.dtype == torch.float32
    assert (in_its_directions - 1).abs().max() < 0.5  # where the five steps end (Jordan et al. 2024)
    torch.testing.assert_close(left @ torch.diag(in_its_directions) @ right, found, atol=1e-4, rtol=0.0)


@given(
    warmup=st.integers(1, 50), constant=st.integers(0, 50), decay=st.integers(1, 50), where=st.floats(0, 1)
)
def test_the_learning_rate_warms_up_stays_constant_and_decays_linearly_to_zero(
    warmup: int, constant: int, decay: int, where: float
) -> None:
    steps = warmup + constant + decay
    settings = OptimisationSettings(warmup_steps=warmup, decay_steps=decay, steps=steps)
    step = round(where * steps)

    factor = learning_rate_factor(step, settings)

    if step < warmup:
        assert factor == pytest.approx((step + 1) / warmup)
    elif step <= warmup + constant:
        assert factor == 1.0
    else:
        assert factor == pytest.approx((steps - step) / decay)
    assert learning_rate_factor(steps, settings) == 0.0
    assert learning_rate_factor(steps - 1, settings) > 0.0


def smoothed_loss(log_probs: Tensor, ids: Tensor, smoothing: float) -> Tensor:
    """Szegedy et al. 2016: the right token has 1 - e + e/V of the mass, every other e/V."""
    wanted = torch.full_like(log_probs, smoothing / log_probs.shape[-1])
    wanted[torch.arange(len(ids)), ids] += 1 - smoothing
    return -(wanted * log_probs).sum(dim=-1).mean()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_label_smoothed_cross_entropy_without_padding(smoothing: float) -> None:
    model = tiny_model()
    module = module_of(model, OptimisationSettings(label_smoothing=smoothing, precision="32-true"))
    batch = random_batch(1, (6, 5))
    source_mask = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]
    target_mask = torch.arange(5) < torch.tensor([5, 3, 1])[:, None]
    batch = batch._replace(source_mask=source_mask, target_mask=target_mask)

    loss = module.training_step(batch, 0)

    logits, ids = [], []
    for row, (source_len, target_len) in enumerate(((6, 5), (2, 3), (4, 1))):  # each pair alone, unpadded
        source = batch.source_ids[row : row + 1, :source_len]
        states = model(source, torch.ones_like(source) > 0, batch.target_in[row : row + 1, :target_len])
        logits.append(model.logits(states[0]))
        ids.append(batch.target_out[row, :target_len])
    expected = smoothed_loss(torch.cat(logits).log_softmax(dim=-1), torch.cat(ids), smoothing)
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    assert module.num_own == (3, 9)


@given(seed=st.integers(0, 2**32), step=st.integers(0, 2**31))
def test_the_dropout_seed_differs_between_steps_and_runs(seed: int, step: int) -> None:
    here = dropout_seed(seed, step)

    assert here == dropout_seed(seed, step)
    assert 0 <= here < 2**64
    assert here not in {dropout_seed(seed, step + 1), dropout_seed(seed + 1, step)}


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
