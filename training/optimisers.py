"""Optimisers: AdamW for all weights, or Muon for the matrices and AdamW for the rest."""

from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import nn

from training.config import OptimisationSettings
from training.machine import layer_dtype

MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic iteration (Jordan et al. 2024)."""


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov's momentum (Jordan et al. 2024): it orthogonalises the update of each matrix.

    The update is scaled to AdamW's usual size (Liu et al. 2025, arXiv:2502.16982), so that one learning rate
    fits both. `torch.optim.Muon` computes the same always in bfloat16, which takes three quarters of a step's
    time on a CPU without instructions for it.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("closure must be None: MuonWithAdamW calls it")
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                if not (state := self.state[matrix]):
                    state["momentum_buffer"] = torch.zeros_like(matrix)
                momentum = state["momentum_buffer"]
                momentum.lerp_(matrix.grad, 1 - MOMENTUM)
                update = orthogonalised(matrix.grad.lerp(momentum, MOMENTUM)[None])[0]
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(update, alpha=-group["lr"] * (0.2 * max(matrix.shape) ** 0.5))


def orthogonalised(matrices: torch.Tensor) -> torch.Tensor:
    """Return matrices [n, out, in] with the same singular vectors and singular values near 1."""
    dtype = layer_dtype("bf16-mixed", matrices.device, torch.cpu.get_capabilities())
    is_tall = matrices.shape[1] > matrices.shape[2]
    result = (matrices.mT if is_tall else matrices).to(dtype)
    result = result / result.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = NEWTON_SCHULZ
    for _ in range(5):
        square = result @ result.mT
        factor = torch.baddbmm(square, square, square, beta=b, alpha=c)
        result = torch.baddbmm(result, factor, result, beta=a)
    return result.mT if is_tall else result


class MuonWithAdamW(torch.optim.Optimizer):
    """One optimiser: Muon for hidden matrices, AdamW for embeddings, norms and biases."""

    def __init__(self, muon: torch.optim.Optimizer, adamw: torch.optim.Optimizer) -> None:
        self.parts = (muon, adamw)
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._share_groups()

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share_groups()

    def _share_groups(self) -> None:
        """Share the group dicts with the parts, so that the schedule's changes reach them."""
        self.param_groups = [group for part in self.parts for group in part.param_groups]


def make_optimiser(model: nn.Module, config: OptimisationSettings) -> torch.optim.Optimizer:
    """Return the optimiser that the config names, for every parameter of the model."""
    if config.optimizer == "adamw":
        return _adamw(model.parameters(), config)
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for module in model.modules():  # yields tied tables, one module under two names, only once
        for name, parameter in module.named_parameters(recurse=False):
            is_matrix = isinstance(module, nn.Linear) and name == "weight"
            (matrices if is_matrix else others).append(parameter)
    muon = Muon(matrices, config.learning_rate, config.weight_decay)
    return MuonWithAdamW(muon, _adamw(others, config))


def learning_rate_factor(step: int, config: OptimisationSettings) -> float:
    """Return the share of the peak learning rate at `step`: linear warm-up, constant, linear decay to zero.

    Without decay steps it stays constant: such a run has no end, and branches decay the rate to zero
    (warmup-stable-decay: Hu et al. 2024, arXiv:2404.06395; Hägele et al. 2024, arXiv:2405.18392).
    """
    warm_up = (step + 1) / config.warmup_steps
    decay = (config.steps - step) / config.decay_steps if config.decay_steps else 1.0
    return max(0.0, min(1.0, warm_up, decay))


def _adamw(parameters: Iterable[nn.Parameter], config: OptimisationSettings) -> torch.optim.AdamW:
    return torch.optim.AdamW(
        parameters, lr=config.learning_rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay
    )
