"""Blocks shared by the encoder and decoder graphs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision import LinearLayer, Precision
from export.model_config import QUICK_GELU
from export.model_weights import Floats, ModelWeights, feed_forward_inputs


@dataclass(frozen=True, slots=True)
class GraphWriter:
    """A graph under construction, its weights, and the precision that writes its weights."""

    graph: GraphBuilder
    model: ModelWeights
    precision: Precision

    def linear(self, value: str, name: str) -> str:
        return self.joined_linear(value, [name])

    def joined_linear(self, value: str, names: Sequence[str]) -> str:
        """Write several linear layers of one value; their outputs are joined on the last axis.

        Args:
            value: input of all layers.
            names: layers in the order of their outputs; the input was calibrated under the first name.
        """
        return self.precision.linear(self.graph, value, self._layers(names))

    def cached_linear(self, value: str, names: Sequence[str]) -> str:
        """Write a `joined_linear` with the numbers that caches hold: [..., K] -> [..., layers x N]."""
        return self.precision.cached_linear(self.graph, value, self._layers(names))

    def _layers(self, names: Sequence[str]) -> list[LinearLayer]:
        return [(name, *self.model.linear(name)) for name in names]

    def embed(self, ids: str, positions: str | None, table: Floats) -> str:
        """Write token vectors plus `positions`, if any, which broadcast over missing axes."""
        graph, factor = self.graph, self.model.embedding_factor
        rows = self.precision.embedding(graph, ids, "embedding", table, factor)
        return rows if positions is None else graph.op("Add", rows, positions)

    def position_table(self, table: Floats) -> str:
        """Add the position table of the graph, and return its name."""
        return self.graph.weight("positions", self.constant(table))

    def optional_norm(self, value: str, name: str) -> str:
        """Write the norm `encoder.norm`, or the like, or nothing if the model has none."""
        stored = name.replace(".", "_")
        return self.norm(value, name, stored) if f"{stored}.weight" in self.model.weights else value

    def norm(self, value: str, name: str, stored: str) -> str:
        """Write a norm; `stored` is its name in the model."""
        weights, config = self.model.weights, self.model.config
        scale = self.constant(weights[f"{stored}.weight"])
        if config.norm_kind == "rms":
            return self.graph.rms_norm(value, name, scale, config.norm_epsilon)
        bias = self.constant(weights[f"{stored}.bias"])
        return self.graph.layer_norm(value, name, scale, bias, config.norm_epsilon)

    def residual(self, value: str, name: str, sublayer: Callable[[str], str]) -> str:
        norm = partial(self.norm, name=f"{name}.norm", stored=f"{name}_residual.norm")
        if self.model.config.norm == "pre":
            return self.graph.op("Add", value, sublayer(norm(value)))
        return norm(self.graph.op("Add", value, sublayer(value)))

    def feed_forward(self, value: str, name: str) -> str:
        """Write a feed-forward with its residual connection."""
        return self.residual(value, name, partial(self._feed_forward, name=name))

    def _feed_forward(self, value: str, name: str) -> str:
        inputs = [f"{name}.{layer}" for layer in feed_forward_inputs(self.model.config)]
        inner = self.joined_linear(value, inputs)
        if not self.model.config.gated_ffn:
            return self.linear(self.activation(inner), f"{name}.outer")
        up, gate = f"{name}.up", f"{name}.gate"
        self.graph.node("Split", (inner,), (up, gate), axis=-1, num_outputs=2)
        return self.linear(self.graph.op("Mul", up, self.activation(gate)), f"{name}.outer")

    def activation(self, value: str) -> str:
        graph, activation = self.graph, self.model.config.activation
        if activation == "relu":
            return graph.op("Relu", value)
        if activation == "gelu":
            return graph.op("Gelu", value)
        if activation == "gelu_tanh":
            return graph.op("Gelu", value, approximate="tanh")
        if activation == "quick_gelu":
            return graph.op("QuickGelu", value, domain=CONTRIB, alpha=QUICK_GELU)
        return graph.op("Mul", value, graph.op("Sigmoid", value))

    def constant(self, weight: Floats) -> NDArray[np.floating[Any]]:
        """Return a constant in the type that flows between the operators."""
        return weight.astype(self.precision.real, copy=False)
