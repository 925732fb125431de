"""Blocks of the encoder and the decoder, pre- or post-norm, and multi-head attention.

Shapes: B sources, T query positions, S key positions, H heads, D head size, d model width, H x D if the model
does not set the head size.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model.recurrence import Ssru
from export.model_config import QUICK_GELU, Activation, ModelConfig


class Attention(nn.Module):
    """Scaled dot-product attention with H heads (Vaswani et al. 2017, section 3.2.2).

    One linear layer each projects to the queries, keys and values of all heads at once. The results of the
    heads are concatenated and go through the output layer. Every instance owns its weights: a decoder layer's
    cross-attention has its own key and value layers over the encoder's output.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.head_size = config.head_size
        width, inner = config.d_model, config.attention_size
        self.query = nn.Linear(width, inner, bias=config.biases)
        self.key = nn.Linear(width, inner, bias=config.biases)
        self.value = None if config.share_kv else nn.Linear(width, inner, bias=config.biases)
        self.output = nn.Linear(inner, width, bias=config.biases)
        self.dropout = nn.Dropout(config.inner_dropout)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the sequence that is attended to.

        Args:
            memory: [B, S, d].

        Returns:
            Keys and values, each [B, H, S, D]; the same tensor twice with `share_kv`.
        """
        keys = self._split_heads(self.key(memory))
        values = keys if self.value is None else self._split_heads(self.value(memory))
        return keys, values

    def forward(self, states: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> Tensor:
        """Attend to keys and values.

        Args:
            states: [B, T, d], from which the queries are made.
            keys: [B, H, S, D].
            values: [B, H, S, D].
            bias: added to the scores, broadcast to [B, H, T, S]; -inf masks a position.

        Returns:
            [B, T, d].
        """
        queries = self._split_heads(self.query(states))
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.head_size)  # [B, H, T, S]
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = (weights @ values).transpose(1, 2)  # [B, T, H, D]
        result: Tensor = self.output(mixed.flatten(2))
        return result

    def _split_heads(self, projected: Tensor) -> Tensor:
        """Reshape [B, T, H x D] to [B, H, T, D]."""
        rows, positions, _ = projected.shape
        return projected.view(rows, positions, self.heads, self.head_size).transpose(1, 2)


KeyValue = tuple[Tensor, Tensor]
"""Keys and values of one attention, each [B, H, S, D]."""
LayerState = tuple[Tensor, ...]
"""State of a decoder layer after t target positions: self K/V, each [B, H, t, D], or SSRU's cell [B, d]."""


def quick_gelu(values: Tensor) -> Tensor:
    """Compute GELU by a sigmoid (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2)."""
    return values * torch.sigmoid(QUICK_GELU * values)


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "quick_gelu": quick_gelu,
    "swish": functional.silu,
}


class FeedForward(nn.Module):
    """Two linear layers with an activation or a gate between them: d -> ffn -> d."""

    def __init__(self, config: ModelConfig, ffn: int) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, ffn, bias=config.biases)
        self.gate = nn.Linear(config.d_model, ffn, bias=config.biases) if config.gated_ffn else None
        self.outer = nn.Linear(ffn, config.d_model, bias=config.biases)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.inner_dropout)

    def forward(self, states: Tensor) -> Tensor:
        inner = self.inner(states)
        active = self.activation(inner) if self.gate is None else inner * self.activation(self.gate(states))
        result: Tensor = self.outer(self.dropout(active))
        return result


class Residual(nn.Module):
    """Residual connection of a sublayer, with a norm before the sublayer (pre) or after the sum (post)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.is_pre = config.norm == "pre"
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sublayer: [B, T, d] -> [B, T, d]."""
        if self.is_pre:
            result: Tensor = states + self.dropout(sublayer(self.norm(states)))
        else:
            result = self.norm(states + self.dropout(sublayer(states)))
        return result


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward."""

    relative_bias: nn.Parameter | None

    def __init__(self, config: ModelConfig, index: int) -> None:
        super().__init__()
        self.register_parameter("relative_bias", _relative_bias(config, index))
        self.self_attention = Attention(config)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config, config.ffn)
        self.feed_forward_residual = Residual(config)

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        """Run the layer on states [B, S, d] with bias [B, 1 | H, 1 | S, S], -inf on padding -> [B, S, d]."""

        def attend(inputs: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(inputs)
            mixed: Tensor = self.self_attention(inputs, keys, values, bias)
            return mixed

        states = self.self_residual(states, attend)
        result: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return result


class DecoderLayer(nn.Module):
    """Self-attention or SSRU over the target so far, cross-attention over the source, feed-forward."""

    relative_bias: nn.Parameter | None

    def __init__(self, config: ModelConfig, index: int) -> None:
        super().__init__()
        self.register_parameter("relative_bias", _relative_bias(config, index))
        if config.autoregression == "ssru":
            self.self_recurrence = Ssru(config.d_model)
        else:
            self.self_attention = Attention(config)
        self.self_residual = Residual(config)
        self.cross_attention = Attention(config)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config, config.decoder_ffn_size)
        self.feed_forward_residual = Residual(config)
        self._is_recurrent = config.autoregression == "ssru"

    def forward(
        self,
        states: Tensor,
        past: LayerState | None,
        cross: KeyValue,
        self_bias: Tensor | None,
        cross_bias: Tensor,
    ) -> tuple[Tensor, LayerState]:
        """Run T new target positions.

        Args:
            states: [B, T, d].
            past: state after the t positions before; None if there are none.
            cross: cross K/V of the source, each [B, H, S, D].
            self_bias: [T, t + T] or [1, H, T, t + T], -inf on later positions; None for no bias.
            cross_bias: [B, 1, 1, S], -inf on padding.

        Returns:
            States [B, T, d], and the state after t + T positions.
        """
        present: list[LayerState] = []

        def read_target(inputs: Tensor) -> Tensor:
            read = self._recur if self._is_recurrent else partial(self._attend, bias=self_bias)
            mixed, kept = read(inputs, past)
            present.append(kept)
            return mixed

        def attend_to_source(inputs: Tensor) -> Tensor:
            mixed: Tensor = self.cross_attention(inputs, cross[0], cross[1], cross_bias)
            return mixed

        states = self.self_residual(states, read_target)
        states = self.cross_residual(states, attend_to_source)
        states = self.feed_forward_residual(states, self.feed_forward)
        return states, present[0]

    def _attend(
        self, inputs: Tensor, past: LayerState | None, bias: Tensor | None
    ) -> tuple[Tensor, LayerState]:
        keys, values = self.self_attention.keys_values(inputs)
        if past is not None:
            keys, values = _append(past[0], keys), _append(past[1], values)
        return self.self_attention(inputs, keys, values, bias), (keys, values)

    def _recur(self, inputs: Tensor, past: LayerState | None) -> tuple[Tensor, LayerState]:
        mixed, cell = self.self_recurrence(inputs, None if past is None else past[0])
        return mixed, (cell,)


def make_norm(config: ModelConfig) -> nn.Module:
    """Return a LayerNorm or RMSNorm over the last axis."""
    kind = nn.RMSNorm if config.norm_kind == "rms" else nn.LayerNorm
    return kind(config.d_model, eps=config.norm_epsilon)


def _append(past: Tensor, new: Tensor) -> Tensor:
    """Concatenate [B, H, t, D] and [B, H, T, D] to [B, H, t + T, D]."""
    return torch.cat([past, new], dim=2)


def _relative_bias(config: ModelConfig, index: int) -> nn.Parameter | None:
    """Return the layer's own relative position biases, [buckets, H], if it has any."""
    if config.positions != "relative" or (index and config.shared_relative):
        return None
    return nn.Parameter(torch.empty(config.relative_buckets, config.heads))
