"""Weights and activations in 8 bits, with scales fixed at export."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import KEPT_ROWS, LISTED_ROWS, CacheDType
from export.activation_ranges import ActivationRange, Calibration
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision.protocol import OUTPUT, LinearLayer, Output, Weights, slice_rows

INT8_MAX = 127
UINT8_ZERO = 128
EQUAL_SCALES = 1e-6
"""Maximum relative difference of scales that were made equal, and differ only by rounding."""
CACHE_STEP = 1.0
"""Quantisation step of K/V, which `export.balance` has scaled to units of their steps."""
SMALLEST_ROW = 1e-10
"""Replacement for the maximum of an all-zero row, which has no scale."""

ROWS_AT_ONCE = 8192
"""Number of weight rows rounded at a time: rounding copies them, and a large table takes a gigabyte."""


@dataclass(frozen=True, slots=True)
class _OutputScaling:
    """Constants that convert an integer product to real numbers."""

    name: str
    scales: Weights
    """Scale of each output, [N], or one scalar for all."""
    bias: Weights
    """Bias of each output, [N]."""


class Int8:
    """int8 weights with a scale per output channel; activations in 8 bits with a scale per projection.

    Scales of activations are calibrated, so a row's result depends only on the row.
    """

    name = "int8"
    cache_dtype: CacheDType = "int8"
    can_use_shortlists = True
    real: type[np.floating[Any]] = np.float32

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._quantised: dict[tuple[str, ActivationRange], str] = {}
        self._tables: dict[str, tuple[NDArray[np.int8], Weights]] = {}
        self._unsigned_tables: dict[str, str] = {}

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        quantised, scales = quantise_channels(weight)
        if np.allclose(scales, scales[0], rtol=EQUAL_SCALES, atol=0.0):
            scales = scales[:1].reshape(())  # onnxruntime prepares several at every product
        table = graph.weight(f"{name}.weight", quantised.T)
        constants = _OutputScaling(name, scales, bias)
        return self._product(graph, value, table, self._calibration.ranges[name], constants)

    def cached_linear(self, graph: GraphBuilder, value: str, maps: Sequence[LinearLayer]) -> str:
        names, weights, biases = zip(*maps, strict=True)
        weight, bias = np.concatenate(weights), np.concatenate(biases)
        projected = Int8.linear(self, graph, value, names[0], weight, bias)  # in 8 bits for `Int4`, too
        zero = graph.weight("int8.0", np.array(0, np.int8))
        return graph.op("QuantizeLinear", projected, graph.scalar(CACHE_STEP), zero)

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        quantised, scales = self._table(name, table)
        rows = graph.op("Gather", self._unsigned(graph, name, quantised), ids)
        wide = graph.op("Cast", rows, attributes={"to": 1})
        centred = graph.op("Sub", wide, graph.scalar(float(UINT8_ZERO)))
        steps = graph.weight(f"{name}.steps", (scales * np.float32(factor))[:, None])
        return graph.op("Mul", centred, graph.op("Gather", steps, ids))

    def output(self, graph: GraphBuilder, value: str, output: Output, tokens: range) -> str:
        quantised, scales = self._table(output.name, output.table)
        # Folded when the graph is loaded, so the file holds the table only once.
        rows = slice_rows(graph, graph.weight(output.name, quantised), output.parts, tokens)
        transposed = graph.op("Transpose", rows, attributes={"perm": [1, 0]})
        part = slice(tokens.start, tokens.stop)
        constants = _OutputScaling(f"{OUTPUT}.{tokens.start}", scales[part], output.bias[part])
        return self._product(graph, value, transposed, self._calibration.ranges[OUTPUT], constants)

    def shortlist_output(self, graph: GraphBuilder, value: str, output: Output) -> str:
        """Write the product with the table's rows as left factor: they are read without packing."""
        quantised, scales = self._table(output.name, output.table)
        activation_range = self._calibration.ranges[OUTPUT]
        table = self._unsigned(graph, output.name, quantised)
        scale, zero = graph.scalar(activation_range.scale), graph.weight("int8.0", np.array(0, np.int8))
        states = graph.op("QuantizeLinear", value, scale, zero)  # int8 [R, d]
        columns = graph.op("Transpose", states, attributes={"perm": [1, 0]})
        product = _shortlist_product(graph, table, columns)  # int32 [C, R]
        by_row = graph.op("Transpose", product, attributes={"perm": [1, 0]})
        steps = graph.weight(f"{OUTPUT}.steps", scales * np.float32(activation_range.scale))
        scaled = graph.op(
            "Mul", graph.op("Cast", by_row, attributes={"to": 1}), graph.op("Gather", steps, "shortlist")
        )
        bias = graph.weight(f"{OUTPUT}.bias", output.bias)
        return graph.op("Add", scaled, graph.op("Gather", bias, "shortlist"))

    def cache_step(self, graph: GraphBuilder) -> str | None:
        return graph.weight("cache_step", np.array([CACHE_STEP], np.float32))

    def _product(
        self,
        graph: GraphBuilder,
        value: str,
        table: str,
        activation_range: ActivationRange,
        constants: _OutputScaling,
    ) -> str:
        return graph.op(
            "MatMulIntegerToFloat",
            self._quantise(graph, value, activation_range),
            table,
            graph.scalar(activation_range.scale),
            graph.weight(f"{constants.name}.scales", constants.scales),
            _zero_point(graph, activation_range),
            "",
            graph.weight(f"{constants.name}.bias", constants.bias),
            domain=CONTRIB,
        )

    def _table(self, name: str, table: Weights) -> tuple[NDArray[np.int8], Weights]:
        """Return the table, rounded once for embedding, shortlist and all parts of the projection."""
        if name not in self._tables:
            self._tables[name] = quantise_channels(table)
        return self._tables[name]

    def _unsigned(self, graph: GraphBuilder, name: str, table: NDArray[np.int8]) -> str:
        """Return the table as uint8 around 128, computed when the graph is loaded: the file has only int8."""
        if name not in self._unsigned_tables:
            outermost = graph.outermost
            bits = outermost.op("Cast", graph.weight(name, table), attributes={"to": 2})
            self._unsigned_tables[name] = outermost.op("BitwiseXor", bits, _uint8(graph, UINT8_ZERO))
        return self._unsigned_tables[name]

    def _quantise(self, graph: GraphBuilder, value: str, activation_range: ActivationRange) -> str:
        """Return uint8 [..., K], computed once for all projections of a value with the same range."""
        if (value, activation_range) not in self._quantised:
            self._quantised[value, activation_range] = graph.op(
                "QuantizeLinear",
                value,
                graph.scalar(activation_range.scale),
                _zero_point(graph, activation_range),
            )
        return self._quantised[value, activation_range]


def _shortlist_product(graph: GraphBuilder, table: str, columns: str) -> str:
    """Multiply shortlisted rows of table [V, d], kept ones if any, by columns [d, R] -> int32 [C, R]."""
    kept, gathered = GraphBuilder("kept", graph), GraphBuilder("gathered", graph)
    zero = _uint8(graph, UINT8_ZERO)
    kept.op("MatMulInteger", KEPT_ROWS, columns, zero, output=kept.named("product"))
    kept.add_empty({LISTED_ROWS: "uint8"})
    rows = gathered.op("Gather", table, "shortlist", output=gathered.named(LISTED_ROWS))  # [C, d]
    gathered.op("MatMulInteger", rows, columns, zero, output=gathered.named("product"))
    num_kept = graph.op("Shape", KEPT_ROWS, attributes={"start": 0, "end": 1})
    is_kept = graph.op("Squeeze", graph.op("Greater", num_kept, graph.ints(0)))
    graph.choose(is_kept, kept, gathered, {"product": "int32", LISTED_ROWS: "uint8"})
    return graph.named("product")


def _zero_point(graph: GraphBuilder, activation_range: ActivationRange) -> str:
    return _uint8(graph, UINT8_ZERO if activation_range.is_signed else 0)


def _uint8(graph: GraphBuilder, value: int) -> str:
    return graph.weight(f"uint8.{value}", np.array(value, np.uint8))


def quantise_channels(weight: Weights) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round weight [N, K] to symmetric int8 with one scale per row.

    Returns:
        int8 [N, K] and float32 [N]; their product approximates the weight.
    """
    quantised = np.empty(weight.shape, np.int8)
    scales = np.empty(len(weight), np.float32)
    for first in range(0, len(weight), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        largest = np.maximum(np.abs(weight[rows]).max(axis=1), SMALLEST_ROW)
        scales[rows] = largest / INT8_MAX
        quantised[rows] = np.clip(np.round(weight[rows] / scales[rows, None]), -INT8_MAX, INT8_MAX)
    return quantised, scales
