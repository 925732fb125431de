"""Muon for stacks of matrices and AdamW for everything else, in a few products a step."""

import math

import torch
from torch import Tensor

from training.config import OptimisationSettings
from training.optimisers import MOMENTUM, orthogonalised
from training.timed.stacked_weights import StackedWeights


class StackedMuon:
    """Muon (Jordan et al. 2024), its updates scaled to AdamW's size (Liu et al. 2025, arXiv:2502.16982)."""

    def __init__(self, weights: StackedWeights, settings: OptimisationSettings) -> None:
        self._weights, self._settings = weights, settings
        self._moments = {shape: torch.zeros_like(stack) for shape, stack in weights.stacks.items()}
        rest = [weights.vectors, *weights.tables.values()]
        self._adamw = torch.optim.AdamW(
            rest, betas=(0.9, 0.98), eps=1e-9, weight_decay=settings.weight_decay, fused=rest[0].is_cuda
        )

    @torch.no_grad()
    def step(self, learning_rate: float) -> Tensor:
        """Update the weights, clear their gradients, and return the gradients' norm before clipping."""
        tensors = self._weights.tensors()
        gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
        norm: Tensor = torch.linalg.vector_norm(torch.stack([gradient.norm() for gradient in gradients]))
        factor = torch.clamp(self._settings.clip_norm / (norm + 1e-6), max=1.0)
        torch._foreach_mul_(gradients, factor)
        for shape, stack in self._weights.stacks.items():
            moment = self._moments[shape]
            if stack.grad is not None:
                moment.lerp_(stack.grad, 1 - MOMENTUM)
                update = orthogonalised(stack.grad.lerp(moment, MOMENTUM))
                stack.mul_(1 - learning_rate * self._settings.weight_decay)
                stack.add_(update.float(), alpha=-learning_rate * 0.2 * math.sqrt(max(shape)))
        for group in self._adamw.param_groups:
            group["lr"] = learning_rate
        self._adamw.step()
        for tensor in tensors:
            tensor.grad = None
        return norm
