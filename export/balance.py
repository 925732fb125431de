"""Scales moved between adjacent linear layers, so that one quantisation step fits all channels between them.

- An attention score is the sum over channels of query times key, and attention's output is linear in the
  values. So a channel's key may be divided by any number if its query is multiplied by it, and its value if
  the output layer's column is multiplied. K/V caches are then rounded with one step, and are as precise as
  with a step per channel.
- ReLU commutes with any positive factor. So the rows of the feed-forward's inner layer may all get the same
  largest weight, if the outer layer's columns are divided by the same factors: the inner weights then need
  only one step.

The model remains the same function. Nagel, van Baalen, Blankevoort and Welling, "Data-Free Quantization
Through Weight Equalization and Bias Correction", ICCV 2019, arXiv:1906.04721, section 4.1.
"""

import copy
from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from export.calibration import cached_attentions
from export.model import Transformer
from export.model.attention import Attention
from export.model.layers import FeedForward

Steps = NDArray[np.float32]
SMALLEST_ROW = 1e-3
"""Lower bound on a row's largest weight: rows that are almost zero are not scaled without bounds."""


def balance_caches(model: Transformer, steps: Mapping[str, Steps]) -> Transformer:
    """Return an equivalent model whose decoder keys and values are in units of quantisation steps.

    Args:
        model: stays unchanged; both models share the weights that do not change.
        steps: steps of the outputs of every key and value layer in the decoder, [d], by layer name.
    """
    balanced = _copy(model, [attention for _, attention in cached_attentions(model)])
    for name, attention in cached_attentions(balanced):
        key = steps[f"{name}.key"]
        _scale_attention(attention, torch.from_numpy(key), torch.from_numpy(steps.get(f"{name}.value", key)))
    return balanced


@torch.no_grad()
def balance_feed_forward(model: Transformer) -> Transformer:
    """Return an equivalent model whose inner feed-forward layers have rows with the same largest weight.

    Args:
        model: as for `balance_caches`; with an activation other than ReLU, the copy is unchanged too.
    """
    if model.config.activation != "relu":
        return _copy(model, [])
    balanced = _copy(model, feed_forwards(model))
    for feed_forward in feed_forwards(balanced):
        inner, outer = feed_forward.inner, feed_forward.outer
        largest = inner.weight.abs().amax(dim=1).clamp_min(SMALLEST_ROW)
        factors = largest.max() / largest
        _scale_outputs(inner, factors)
        outer.weight.div_(factors)
    return balanced


def feed_forwards(model: Transformer) -> list[FeedForward]:
    """Return the feed-forward blocks of the encoder, then of the decoder."""
    encoder = [layer.feed_forward for layer in model.encoder_layers()]
    return encoder + [layer.feed_forward for layer in model.decoder_layers()]


def _copy(model: Transformer, changed: Iterable[nn.Module]) -> Transformer:
    """Copy a model; modules that will be changed get their own weights, all others share the model's."""
    own = {id(parameter) for module in changed for parameter in module.parameters()}
    shared = (tensor for tensor in (*model.parameters(), *model.buffers()) if id(tensor) not in own)
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})


@torch.no_grad()
def _scale_attention(attention: Attention, key: torch.Tensor, value: torch.Tensor) -> None:
    _scale_outputs(attention.query, key)
    _scale_outputs(attention.key, 1 / key)
    if attention.value is not None:
        _scale_outputs(attention.value, 1 / value)
    attention.output.weight.mul_(value)


def _scale_outputs(linear: nn.Linear, factors: torch.Tensor) -> None:
    linear.weight.mul_(factors[:, None])
    linear.bias.mul_(factors)
