"""A model as importers return it and the graphs are written from it: its shape and its weights by name.

Shapes: d model width, V vocabulary.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.activation_ranges import Quantisation
from export.model_config import ModelConfig
from export.positions import position_table
from export.recurrent_weights import linear_shapes, recurrent_shapes
from export.tensors.tensor import StoredWeights

Floats = NDArray[np.float32]
POSITIONS, TARGET_POSITIONS = "position_table", "target_position_table"
SOURCE_TABLE, TARGET_TABLE = "source_embedding.weight", "target_embedding.weight"
OUTPUT_TABLE, OUTPUT_BIAS = "output_weight", "output_bias"
RELATIVE = "relative_bias"
"""Last part of the name of a layer's relative position biases, [buckets, H]."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ModelWeights:
    """A model's shape and weights. `weight_shapes` lists the names."""

    config: ModelConfig
    weights: StoredWeights
    """Weights by name; each is read from its file whenever it is looked up. A table of positions that are
    not learned is optional."""
    quantisation: Quantisation | None = None
    """Quantisation in the model's files; None if its weights are not rounded, or were changed."""

    @property
    def source_positions(self) -> Floats:
        """Position vectors of the encoder, [max_positions, d]."""
        return self.weights[POSITIONS] if POSITIONS in self.weights else position_table(self.config)

    @property
    def target_positions(self) -> Floats:
        """Position vectors of the decoder, [max_positions, d]."""
        return self.weights.get(TARGET_POSITIONS, self.source_positions)

    @property
    def target_embedding(self) -> Floats:
        """Token vectors of the target, [V, d]."""
        return self.weights[SOURCE_TABLE if self.config.shared_vocab else TARGET_TABLE]

    @property
    def output_projection(self) -> Floats:
        """Output projection, [V, d]."""
        return self.target_embedding if self.config.tied_output else self.weights[OUTPUT_TABLE]

    @property
    def embedding_factor(self) -> float:
        """Factor of token vectors: sqrt(d) (section 3.4 of the paper), or 1."""
        return math.sqrt(self.config.d_model) if self.config.scaled_embeddings else 1.0

    def relative_bias(self, stack: str, layer: int) -> Floats:
        """Return the relative position biases that a layer of `encoder` or `decoder` adds, [buckets, H]."""
        return self.weights[f"{stack}.{0 if self.config.shared_relative else layer}.{RELATIVE}"]

    def with_weights(self, changed: Mapping[str, Floats]) -> "ModelWeights":
        """Return a model with some weights changed; the others stay where they are."""
        return ModelWeights(self.config, self.weights.with_changes(changed))

    def linear(self, name: str) -> tuple[Floats, Floats]:
        """Return weight [N, K] and bias [N] of a linear layer; zeros if it has no bias."""
        weight = self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        return weight, np.zeros(len(weight), np.float32) if bias is None else bias


def weight_problems(model: ModelWeights, largest: float) -> list[str]:
    """Return a problem for each weight that has NaN, infinity or a magnitude over `largest`.

    A bias of minus infinity before the softmax is usable: its token is never chosen.
    """
    problems: list[str] = []
    for name, weight in model.weights.items():
        numbers = weight[weight > -np.inf] if name == OUTPUT_BIAS and np.isneginf(weight).any() else weight
        # No copy of a large weight. NaN is neither.
        if numbers.size and not (-largest <= numbers.min() and numbers.max() <= largest):
            problems.append(f"{name} has NaN, infinity or numbers over {largest:.6g}")
    return problems


def weight_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight that a model stores, by name; tied tables have one name."""
    return dict(_shapes(config))


def attention_layers(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of the linear layers of an attention."""
    return ("query", "key", "output") if config.share_kv else ("query", "key", "value", "output")


def feed_forward_inputs(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of the linear layers that read a feed-forward's input."""
    return ("inner", "gate") if config.gated_ffn else ("inner",)


def query_key_value(config: ModelConfig, name: str) -> tuple[str, str, str]:
    """Return the names of an attention's layers for queries, keys and values."""
    return f"{name}.query", f"{name}.key", f"{name}.key" if config.share_kv else f"{name}.value"


def _shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, target_size = config.d_model, config.target_vocab_size
    yield SOURCE_TABLE, (config.source_vocab_size, width)
    if not config.shared_vocab:
        yield TARGET_TABLE, (target_size, width)
    if config.positions == "learned":
        yield POSITIONS, (config.max_positions, width)
        if not config.shared_positions:
            yield TARGET_POSITIONS, (config.max_positions, width)
    if not config.tied_output:
        yield OUTPUT_TABLE, (target_size, width)
    yield OUTPUT_BIAS, (target_size,)
    if config.architecture == "bahdanau":
        yield from recurrent_shapes(config)
        return
    kinds = {"embedding_norm": config.embedding_norm, "norm": config.has_final_norm}
    for stack, (kind, is_present) in itertools.product(("encoder", "decoder"), kinds.items()):
        if is_present:
            yield from _norm(f"{stack}_{kind}", config)
    for index in range(config.encoder_layers):
        yield from _layer(f"encoder.{index}", ("self",), config.ffn, config)
    for index in range(config.decoder_layers):
        yield from _layer(f"decoder.{index}", ("self", "cross"), config.decoder_ffn_size, config)


def _layer(
    name: str, attentions: tuple[str, ...], ffn: int, config: ModelConfig
) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, biases = config.d_model, config.biases
    if config.positions == "relative" and (name.endswith(".0") or not config.shared_relative):
        yield f"{name}.{RELATIVE}", (config.relative_buckets, config.heads)
    for kind in attentions:
        yield from _norm(f"{name}.{kind}_residual.norm", config)
        if kind == "self" and name.startswith("decoder.") and config.autoregression == "ssru":
            yield f"{name}.self_recurrence.cell.weight", (width, width)
            yield from linear_shapes(f"{name}.self_recurrence.forget", width, width, has_bias=True)
            continue
        *inputs, output = attention_layers(config)
        for layer in inputs:
            yield from linear_shapes(
                f"{name}.{kind}_attention.{layer}", config.attention_size, width, has_bias=biases
            )
        yield from linear_shapes(
            f"{name}.{kind}_attention.{output}", width, config.attention_size, has_bias=biases
        )
    yield from _norm(f"{name}.feed_forward_residual.norm", config)
    for layer in feed_forward_inputs(config):
        yield from linear_shapes(f"{name}.feed_forward.{layer}", ffn, width, has_bias=biases)
    yield from linear_shapes(f"{name}.feed_forward.outer", width, ffn, has_bias=biases)


def _norm(name: str, config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (config.d_model,)
    if config.norm_kind == "layer":
        yield f"{name}.bias", (config.d_model,)
