"""The pre-norm Transformer of `export/model` as a function of stacked weights, for training on a GPU.

Fused attention and one product for queries, keys and values make a step about half as long as the written-out
model's. Shapes: B pairs, S source length, T target length, H heads, D head size, d model width.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from export.model_config import ModelConfig


class UnsupportedShapeError(ValueError):
    """The model has a part that this function does not know."""


def check_supported(config: ModelConfig) -> None:
    """Raise UnsupportedShapeError unless the model is a plain pre-norm Transformer with one table."""
    wanted = {
        "architecture": "transformer",
        "norm": "pre",
        "norm_kind": "layer",
        "activation": "relu",
        "positions": "sinusoidal",
        "autoregression": "attention",
        "shared_vocab": True,
        "tied_output": True,
        "biases": True,
        "has_final_norm": True,
        "gated_ffn": False,
        "embedding_norm": False,
        "share_kv": False,
        "inner_dropout": 0.0,
    }
    if wrong := [name for name, value in wanted.items() if getattr(config, name) != value]:
        raise UnsupportedShapeError(f"timed training does not know this model's {', '.join(wrong)}")


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """One pass over a batch: the weights of a step, the shape, and the dropout of training."""

    config: ModelConfig
    weights: dict[str, Tensor]  # as `StackedWeights.cast` returns them
    positions: Tensor  # [max_positions, d]
    dropout: float

    def __call__(self, table: Tensor, source_ids: Tensor, source_mask: Tensor, target_in: Tensor) -> Tensor:
        """Return the decoder's states [B, T, d].

        Args:
            table: float32 [V, d].
            source_ids: int64 [B, S].
            source_mask: bool [B, S].
            target_in: int64 [B, T].
        """
        states = self._embed(table, source_ids)
        mask = torch.zeros(source_mask.shape, dtype=states.dtype, device=states.device)
        mask = mask.masked_fill(~source_mask, -math.inf)[:, None, None, :]
        for index in range(self.config.encoder_layers):
            name = f"encoder.{index}"
            states = self._attend_to_self(states, name, mask)
            states = self._feed_forward(states, name)
        memory = self._norm(states, "encoder_norm")
        states = self._embed(table, target_in)
        for index in range(self.config.decoder_layers):
            name = f"decoder.{index}"
            states = self._attend_to_self(states, name, None)
            states = self._attend_to_source(states, memory, name, mask)
            states = self._feed_forward(states, name)
        return self._norm(states, "decoder_norm")

    def _embed(self, table: Tensor, ids: Tensor) -> Tensor:
        vectors = functional.embedding(ids, table) * math.sqrt(self.config.d_model)
        vectors = vectors + self.positions[: ids.shape[1]]
        return self._drop(vectors.to(self.weights["encoder_norm.weight"].dtype))

    def _attend_to_self(self, states: Tensor, name: str, mask: Tensor | None) -> Tensor:
        layer = f"{name}.self_attention"
        inputs = self._norm(states, f"{name}.self_residual.norm")
        queries, keys, values = self._heads(self._linear(inputs, f"{layer}.query"), 3)
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=mask is None
        )
        return states + self._drop(self._joined(mixed, layer))

    def _attend_to_source(self, states: Tensor, memory: Tensor, name: str, mask: Tensor) -> Tensor:
        layer = f"{name}.cross_attention"
        inputs = self._norm(states, f"{name}.cross_residual.norm")
        (queries,) = self._heads(self._linear(inputs, f"{layer}.query"), 1)
        keys, values = self._heads(self._linear(memory, f"{layer}.key"), 2)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        return states + self._drop(self._joined(mixed, layer))

    def _feed_forward(self, states: Tensor, name: str) -> Tensor:
        inputs = self._norm(states, f"{name}.feed_forward_residual.norm")
        inner = functional.relu(self._linear(inputs, f"{name}.feed_forward.inner"))
        outer = self._linear(inner, f"{name}.feed_forward.outer")
        return states + self._drop(outer)

    def _norm(self, states: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(states, (self.config.d_model,), weight, bias, self.config.norm_epsilon)

    def _drop(self, states: Tensor) -> Tensor:
        return functional.dropout(states, self.dropout) if self.dropout else states

    def _heads(self, projected: Tensor, count: int) -> tuple[Tensor, ...]:
        """Split [B, T, count x H x D] into `count` tensors [B, H, T, D]."""
        rows, length, _ = projected.shape
        split = projected.view(rows, length, count, self.config.heads, self.config.head_size)
        return split.permute(2, 0, 3, 1, 4).unbind(0)

    def _joined(self, mixed: Tensor, layer: str) -> Tensor:
        """Join the heads [B, H, T, D] and apply the output map: [B, T, d]."""
        return self._linear(mixed.transpose(1, 2).flatten(2), f"{layer}.output")

    def _linear(self, inputs: Tensor, layer: str) -> Tensor:
        return functional.linear(inputs, self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"])
