"""How weights meet activations: in fp32, or as int8 with a scale per row and per output channel."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from export.graph.builder import CONTRIB, GraphBuilder

INT8_MAX = 127
UINT8_ZERO = 128
SMALLEST_ROW = 1e-10
"""Stands in for the maximum of an all-zero row, which has no scale."""

Weights = NDArray[np.float32]


class Precision(Protocol):
    """Writes the operators that carry the model's big weights."""

    name: str

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        """Value [..., K] x weight [N, K] transposed + bias [N] -> [..., N]."""
        ...

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights) -> str:
        """Rows of table [V, d] -> [..., d]."""
        ...

    def tied_linear(self, graph: GraphBuilder, value: str, name: str, table: Weights, bias: Weights) -> str:
        """Like `linear`, with the table that `embedding` reads under the same name."""
        ...


class Float32:
    """Weights as they were trained."""

    name = "fp32"

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        product = graph.op("MatMul", value, graph.weight(f"{name}.weight", weight.T))
        return graph.op("Add", product, graph.weight(f"{name}.bias", bias))

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights) -> str:
        return graph.op("Gather", graph.weight(name, table), ids)

    def tied_linear(self, graph: GraphBuilder, value: str, name: str, table: Weights, bias: Weights) -> str:
        return graph.op(
            "Gemm",
            value,
            graph.weight(name, table),
            graph.weight(f"{name}.output_bias", bias),
            attributes={"transB": 1},
        )


class Int8PerRow:
    """int8 weights with a scale per output channel; activations quantised row by row as they come.

    A row's scale is its own largest magnitude, so its result does not depend on the rows beside it, and
    nothing needs calibration.
    """

    name = "int8"

    def __init__(self) -> None:
        self._quantised: dict[str, tuple[str, str]] = {}

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        quantised, scales = quantise_channels(weight)
        table = graph.weight(f"{name}.weight", quantised.T)
        return self._product(graph, value, table, graph.weight(f"{name}.scales", scales), (name, bias))

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights) -> str:
        quantised, scales = quantise_channels(table)
        rows = graph.op("Gather", graph.weight(name, quantised), ids)
        row_scales = graph.op("Gather", graph.weight(f"{name}.scales", scales), ids)
        wide = graph.op("Cast", rows, attributes={"to": 1})
        return graph.op("Mul", wide, graph.op("Unsqueeze", row_scales, graph.ints(-1)))

    def tied_linear(self, graph: GraphBuilder, value: str, name: str, table: Weights, bias: Weights) -> str:
        quantised, scales = quantise_channels(table)
        # Folded when the graph is loaded, so that the file holds the table once.
        transposed = graph.op("Transpose", graph.weight(name, quantised), attributes={"perm": [1, 0]})
        scales_name = graph.weight(f"{name}.scales", scales)
        return self._product(graph, value, transposed, scales_name, (f"{name}.output", bias))

    def _product(
        self, graph: GraphBuilder, value: str, table: str, scales: str, named_bias: tuple[str, Weights]
    ) -> str:
        quantised, row_scales = self._quantise_rows(graph, value)
        product = graph.op(
            "MatMulIntegerToFloat",
            quantised,
            table,
            graph.scalar(1.0),
            scales,
            graph.weight("uint8_zero", np.array(UINT8_ZERO, np.uint8)),
            domain=CONTRIB,
        )
        name, bias = named_bias
        return graph.op("Add", graph.op("Mul", product, row_scales), graph.weight(f"{name}.bias", bias))

    def _quantise_rows(self, graph: GraphBuilder, value: str) -> tuple[str, str]:
        """uint8 [..., K] around 128, and float32 scales [..., 1]; once for every reader of a value."""
        if value not in self._quantised:
            largest = graph.op("ReduceMax", graph.op("Abs", value), graph.ints(-1))
            scales = graph.op(
                "Mul", graph.op("Max", largest, graph.scalar(SMALLEST_ROW)), graph.scalar(1 / INT8_MAX)
            )
            quantised = graph.op(
                "QuantizeLinear",
                graph.op("Div", value, scales),
                graph.scalar(1.0),
                graph.weight("uint8_zero", np.array(UINT8_ZERO, np.uint8)),
            )
            self._quantised[value] = (quantised, scales)
        return self._quantised[value]


def quantise_channels(weight: Weights) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 with one scale per row of weight [N, K].

    Returns:
        int8 [N, K] and float32 [N]; weight is about their product.
    """
    largest = np.maximum(np.abs(weight).max(axis=1), SMALLEST_ROW)
    scales: NDArray[Any] = (largest / INT8_MAX).astype(np.float32)
    quantised = np.clip(np.round(weight / scales[:, None]), -INT8_MAX, INT8_MAX).astype(np.int8)
    return quantised, scales


def make_precision(name: str) -> Precision:
    """A fresh writer for one graph.

    Raises:
        ValueError: for a name that is not `fp32` or `int8`.
    """
    if name == "fp32":
        return Float32()
    if name == "int8":
        return Int8PerRow()
    raise ValueError(f"precision must be fp32 or int8, not {name!r}")
