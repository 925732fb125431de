"""The blocks that the encoder and the decoder graph share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from export.graph.builder import GraphBuilder
from export.graph.precision import Precision
from export.model import Transformer
from export.model.layers import FeedForward, Residual

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Writer:
    """A graph in the making, the model it is made from, and how its weights are written."""

    graph: GraphBuilder
    model: Transformer
    precision: Precision

    def linear(self, value: str, name: str, module: nn.Linear) -> str:
        return self.precision.linear(self.graph, value, name, array(module.weight), array(module.bias))

    def joined_linear(self, value: str, name: str, modules: Sequence[nn.Linear]) -> str:
        """Several maps of one value as one product, their results side by side on the last axis.

        Args:
            value: what all of them read.
            name: the first map's, under which its input was calibrated.
            modules: in the order of their results.
        """
        weight = np.concatenate([array(module.weight) for module in modules])
        bias = np.concatenate([array(module.bias) for module in modules])
        return self.precision.linear(self.graph, value, name, weight, bias)

    def cached_linear(self, value: str, maps: Sequence[tuple[str, nn.Linear]]) -> str:
        """Like `joined_linear`, in the numbers that caches hold: [..., K] -> [..., maps x N]."""
        joined = [(name, array(module.weight), array(module.bias)) for name, module in maps]
        return self.precision.cached_linear(self.graph, value, joined)

    def embed(self, ids: str, positions: str, embedding: nn.Embedding) -> str:
        """Scaled token vectors plus `positions` (broadcast over what it lacks)."""
        graph = self.graph
        factor = math.sqrt(self.model.config.d_model)
        rows = self.precision.embedding(graph, ids, "embedding", array(embedding.weight), factor)
        return graph.op("Add", rows, positions)

    def position_table(self) -> str:
        return self.graph.weight("positions", self._constant(self.model.position_table))

    def norm(self, value: str, name: str, module: nn.Module) -> str:
        """A LayerNorm, or nothing where the model has none."""
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
        activation = self.model.config.activation
        if activation == "relu":
            return self.graph.op("Relu", value)
        if activation == "gelu":
            return self.graph.op("Gelu", value)
        return self.graph.op("Mul", value, self.graph.op("Sigmoid", value))

    def _constant(self, tensor: Tensor) -> NDArray[np.floating[Any]]:
        """Of the type that flows between the operators."""
        return array(tensor).astype(self.precision.real, copy=False)


def array(tensor: Tensor) -> Floats:
    """float32, on the CPU, detached."""
    result: Floats = tensor.detach().float().cpu().numpy()
    return result
