"""Graphs in float32, with weights as they were trained, and in float16."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from dragoman.contract import CacheDType
from export.graph.builder import GraphBuilder
from export.graph.precision.protocol import (
    OUTPUT,
    LinearLayer,
    OutputProjection,
    Weights,
    join_layers,
    slice_rows,
)

LARGE_TABLE_BYTES = 50_000_000
"""Size from which each part of a table is a constant of its own. Slices of a constant, which onnxruntime cuts
when it loads a graph, stay in memory next to its packed copy."""


class Float32:
    """Weights, activations and caches in float32."""

    name = "fp32"
    cache_dtype: CacheDType = "float32"
    can_use_shortlists = False
    real: type[np.floating[Any]] = np.float32

    def linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        name, weight, bias = join_layers(layers)
        product = graph.op("MatMul", value, self._weight(graph, f"{name}.weight", weight.T))
        return graph.op("Add", product, self._weight(graph, f"{name}.bias", bias))

    def cached_linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        return self.linear(graph, value, layers)

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        rows = graph.op("Gather", self._weight(graph, name, table), ids)
        if factor == 1.0:
            return rows
        return graph.op("Mul", rows, self._weight(graph, f"{name}.factor", np.array(factor, np.float32)))

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        table = self._weight(graph, output.name, output.table)
        is_large = len(output.parts) > 1 and output.table.nbytes >= LARGE_TABLE_BYTES
        rows = graph.rows(table, tokens) if is_large else slice_rows(graph, table, output.parts, tokens)
        return graph.op(
            "Gemm",
            value,
            rows,
            self._weight(graph, f"{OUTPUT}.{tokens.start}.bias", output.bias[tokens.start : tokens.stop]),
            transB=1,
        )

    def shortlist_output(self, graph: GraphBuilder, value: str, output: OutputProjection) -> str:
        raise NotImplementedError(
            f"{graph.name}, {value}, {output.name}: {self.name} does not support shortlists"
        )

    def cache_step(self, graph: GraphBuilder) -> str | None:  # noqa: ARG002 -- part of the protocol
        return None

    def _weight(self, graph: GraphBuilder, name: str, weight: Weights) -> str:
        return graph.weight(name, weight.astype(self.real, copy=False))


class Float16(Float32):
    """Weights, activations and caches in float16; log-probabilities in float32.

    onnxruntime's CPU provider runs it too, by casting to float32 and back around most operators.
    """

    name = "fp16"
    cache_dtype: CacheDType = "float16"
    real: type[np.floating[Any]] = np.float16

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        logits = super().output(graph, value, output, tokens)
        return graph.op("Cast", logits, to=TensorProto.FLOAT)
