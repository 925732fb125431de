"""Label-smoothed cross-entropy of an output projection, without holding the logits of all tokens.

The gradients are computed together with the loss, a chunk of tokens at a time, so that a chunk's logits stay
in the processor's cache. At 16,000 pieces the plain form spends most of a training step on moving logits.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from typing_extensions import override

CHUNK_TOKENS = 512
"""Number of tokens whose logits are held at a time on a CPU."""
SUM_TOKENS = 1024
"""Number of tokens whose gradients of the logits are held on a CPU, to be summed over in one product."""
GPU_TOKENS = 16_384
"""Both of these numbers on a GPU, which needs large products."""
EXTRA_COLUMNS = 32
"""Number of columns added for the bias; products with one odd column take half as long again."""
SMALLEST = math.exp(-87)
"""Smallest probability in the loss, just above the smallest normal number of float32 and bfloat16."""


def linear_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, label_smoothing: float
) -> Tensor:
    """Return the mean label-smoothed cross-entropy (Szegedy et al. 2016) of `states @ weight.T + bias`.

    The products run in the dtype of `states`, sums over tokens in float32. A token counts for at most
    87 nats, because smaller probabilities have no normal number; gradients are not affected.

    Args:
        states: float [N, d].
        weight: float [V, d].
        bias: float [V].
        targets: int64 [N].
        label_smoothing: share of the probability that is spread evenly over the vocabulary.

    Returns:
        float32 scalar, in nats per token. It has first derivatives only.
    """
    loss: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, bias, targets, label_smoothing
    )
    return loss


def sampled_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, label_smoothing: float, num_sampled: int
) -> Tensor:
    """Return an estimate of `linear_cross_entropy` from the logits of some pieces.

    The sum below the softmax has the pieces that occur in `targets` and, with more weight, `num_sampled`
    evenly drawn ones of the others (after Jean et al. 2015, arXiv:1412.2007). The sum is unbiased; its
    logarithm is a little too small. Arguments and result are those of `linear_cross_entropy`.
    """
    in_targets = torch.zeros(len(weight), dtype=torch.bool, device=weight.device)
    in_targets[targets] = True
    others = (~in_targets).nonzero()[:, 0]
    if num_sampled >= len(others):
        return linear_cross_entropy(states, weight, bias, targets, label_smoothing)
    drawn = others[torch.randperm(len(others), device=weight.device)[:num_sampled]]
    log_weights = bias.new_zeros(len(weight))
    log_weights[drawn] = math.log(len(others) / num_sampled)
    pieces = torch.cat([in_targets.nonzero()[:, 0], drawn])
    positions = in_targets.cumsum(dim=0)[targets] - 1
    estimate = linear_cross_entropy(
        states, weight[pieces], (bias + log_weights)[pieces], positions, label_smoothing=0.0
    )
    # Smoothing adds each target's logit and the mean of all logits, which is the logit of the mean row.
    tokens = states.float()
    of_targets = (tokens * weight[targets]).sum(dim=1) + bias[targets]
    return estimate + label_smoothing * (of_targets - tokens @ weight.mean(dim=0) - bias.mean()).mean()


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    @override
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> Tensor:
        # The bias is one more column of the weights, against a column of ones, so that its gradient needs no
        # pass of its own.
        width = states.shape[1]
        inputs = functional.pad(states, (0, EXTRA_COLUMNS))
        inputs[:, width] = 1.0
        table = functional.pad(weight.to(states.dtype), (0, EXTRA_COLUMNS))
        table[:, width] = bias
        loss, input_sums, table_sums = _chunked_sums(inputs, table, targets, smoothing)
        # Smoothing subtracts smoothing / V from each gradient of a logit: a product of sums, not of matrices.
        share = smoothing / len(table)
        total_input = inputs.sum(dim=0, dtype=torch.float32)
        total_row = table.sum(dim=0, dtype=torch.float32)
        input_gradient = (input_sums.float() - share * total_row) / len(inputs)
        table_gradient = table_sums.sub_(share * total_input).div_(len(inputs))
        ctx.save_for_backward(
            input_gradient[:, :width].to(states.dtype),
            table_gradient[:, :width].to(weight.dtype),
            table_gradient[:, width].to(bias.dtype),
        )
        return (loss - share * (total_input @ total_row)) / len(inputs)

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_states, of_weight, of_bias = ctx.saved_tensors
        return of_states * gradient, of_weight * gradient, of_bias * gradient, None, None


def _chunked_sums(
    inputs: Tensor, table: Tensor, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return loss and gradients without the even share of smoothing, as sums over tokens.

    Args:
        inputs: [N, D].
        table: [V, D], of the same dtype.
        targets: int64 [N].
        smoothing: share of the probability that is spread evenly.

    Returns:
        Loss, float32 scalar; gradient of the inputs, [N, D]; gradient of the table, float32 [V, D].
    """
    on_cpu = inputs.device.type == "cpu"
    chunk_tokens, sum_tokens = (CHUNK_TOKENS, SUM_TOKENS) if on_cpu else (GPU_TOKENS, GPU_TOKENS)
    loss = torch.zeros((), device=inputs.device)
    of_inputs = torch.empty_like(inputs)
    of_table = torch.zeros(table.shape, device=table.device)
    for sum_inputs, sum_targets, sum_results in zip(
        torch.split(inputs, sum_tokens),
        torch.split(targets, sum_tokens),
        torch.split(of_inputs, sum_tokens),
        strict=True,
    ):
        of_logits = inputs.new_empty(len(sum_inputs), len(table))
        for chunk, ids, result, probabilities in zip(
            torch.split(sum_inputs, chunk_tokens),
            torch.split(sum_targets, chunk_tokens),
            torch.split(sum_results, chunk_tokens),
            torch.split(of_logits, chunk_tokens),
            strict=True,
        ):
            logits = chunk @ table.T
            torch.softmax(logits, dim=-1, out=probabilities)
            rows = torch.arange(len(ids), device=ids.device)
            right = probabilities[rows, ids]
            loss += (smoothing * logits[rows, ids].float() - right.float().clamp_min(SMALLEST).log()).sum()
            probabilities[rows, ids] = right - (1 - smoothing)
            torch.mm(probabilities, table, out=result)
        of_table += of_logits.T @ sum_inputs
    return loss, of_inputs, of_table
