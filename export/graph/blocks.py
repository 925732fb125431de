"""Blocks shared by the encoder and decoder graphs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision import Precision
from export.model import Transformer
from export.model.layers import QUICK_GELU, FeedForward, Residual

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GraphWriter:
    """A graph under construction, its model, and the precision that writes its weights."""

    graph: GraphBuilder
    model: Transformer
    precision: Precision

    def linear(self, value: str, name: str, module: nn.Linear) -> str:
        return self.precision.linear(self.graph, value, name, array(module.weight), _bias(module))

    def joined_linear(self, value: str, name: str, modules: Sequence[nn.Linear]) -> str:
        """Write several linear layers of one value as one product; their outputs are joined on the last axis.

        Args:
            value: input of all layers.
            name: name of the first layer, under which the input was calibrated.
            modules: layers in the order of their outputs.
        """
        weight = np.concatenate([array(module.weight) for module in modules])
        bias = np.concatenate([_bias(module) for module in modules])
        return self.precision.linear(self.graph, value, name, weight, bias)

    def cached_linear(self, value: str, maps: Sequence[tuple[str, nn.Linear]]) -> str:
        """Write a `joined_linear` with the numbers that caches hold: [..., K] -> [..., maps x N]."""
        joined = [(name, array(module.weight), _bias(module)) for name, module in maps]
        return self.precision.cached_linear(self.graph, value, joined)

    def embed(self, ids: str, positions: str, embedding: nn.Embedding) -> str:
        """Write token vectors plus `positions`, which broadcast over the axes that they do not have."""
        graph, factor = self.graph, self.model.embedding_factor
        rows = self.precision.embedding(graph, ids, "embedding", array(embedding.weight), factor)
        return graph.op("Add", rows, positions)

    def position_table(self, table: Tensor) -> str:
        """Add the position table of the graph, and return its name."""
        return self.graph.weight("positions", self._constant(table))

    def norm(self, value: str, name: str, module: nn.Module) -> str:
        """Write a LayerNorm, or nothing if the model has none."""
        if not isinstance(module, nn.LayerNorm):
            return value
        scale, bias = self._constant(module.weight), self._constant(module.bias)
        return self.graph.layer_norm(value, name, scale, bias, module.eps)

    def residual(self, value: str, name: str, module: Residual, sublayer: Callable[[str], str]) -> str:
        if module.is_pre:
            return self.graph.op("Add", value, sublayer(self.norm(value, f"{name}.norm", module.norm)))
        return self.norm(self.graph.op("Add", value, sublayer(value)), f"{name}.norm", module.norm)

    def feed_forward(self, value: str, name: str, module: FeedForward) -> str:
        inner = self.linear(value, f"{name}.inner", module.inner)
        return self.linear(self.activation(inner), f"{name}.outer", module.outer)

    def activation(self, value: str) -> str:
        graph, activation = self.graph, self.model.config.activation
        if activation == "relu":
            return graph.op("Relu", value)
        if activation == "gelu":
            return graph.op("Gelu", value)
        if activation == "gelu_tanh":
            return graph.op("Gelu", value, attributes={"approximate": "tanh"})
        if activation == "quick_gelu":
            return graph.op("QuickGelu", value, domain=CONTRIB, attributes={"alpha": QUICK_GELU})
        return graph.op("Mul", value, graph.op("Sigmoid", value))

    def _constant(self, tensor: Tensor) -> NDArray[np.floating[Any]]:
        """Return a constant in the type that flows between the operators."""
        return array(tensor).astype(self.precision.real, copy=False)


def _bias(module: nn.Linear) -> Floats:
    """Return the bias; zeros if the layer has none."""
    bias: Tensor | None = module.bias
    return np.zeros(module.out_features, np.float32) if bias is None else array(bias)


def array(tensor: Tensor) -> Floats:
    """Return float32 on the CPU, detached; this is the tensor's own memory if it is that already."""
    result: Floats = tensor.detach().float().cpu().numpy()
    return result
