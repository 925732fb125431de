"""Weights and activations in 8 bits, with scales fixed at export."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import KEPT_ROWS, LISTED_ROWS, CacheDType
from export.activation_ranges import ActivationRange, Quantisation
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision.protocol import OUTPUT, LinearLayer, OutputProjection, Weights, slice_rows

INT8_MIN, INT8_MAX = -128, 127
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

    def __init__(self, calibration: Quantisation) -> None:
        self._calibration = calibration
        self._quantised: dict[tuple[str, ActivationRange], str] = {}
        self._tables: dict[str, tuple[NDArray[np.int8], Weights]] = {}
        self._unsigned_tables: dict[str, str] = {}

    def linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        ranges = self._calibration.ranges
        if len({ranges[name] for name, _, _ in layers if name in ranges}) > 1:
            products = [self.linear(graph, value, [layer]) for layer in layers]
            return graph.op("Concat", *products, axis=-1)
        (name, *_), _, biases = zip(*layers, strict=True)
        quantised, scales = self._round([layer[:2] for layer in layers])
        if np.allclose(scales, scales[0], rtol=EQUAL_SCALES, atol=0.0):
            scales = scales[:1].reshape(())  # onnxruntime prepares several at every product
        table = graph.weight(f"{name}.weight", quantised.T)
        constants = _OutputScaling(name, scales, np.concatenate(biases))
        return self._product(graph, value, table, ranges[name], constants)

    def cached_linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        projected = self.linear(graph, value, layers)
        zero = graph.integer(0, "int8")
        return graph.op("QuantizeLinear", projected, graph.scalar(CACHE_STEP), zero)

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        quantised, scales = self._table(graph, name, table)
        rows = graph.op("Gather", self._unsigned(graph, name, quantised), ids)
        wide = graph.op("Cast", rows, to=1)
        centred = graph.op("Sub", wide, graph.scalar(float(UINT8_ZERO)))
        steps = graph.weight(f"{name}.steps", (scales * np.float32(factor))[:, None])
        return graph.op("Mul", centred, graph.op("Gather", steps, ids))

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        quantised, scales = self._table(graph, output.name, output.table)
        # Folded when the graph is loaded, so the file holds the table only once.
        rows = slice_rows(graph, graph.weight(output.name, quantised), output.parts, tokens)
        transposed = graph.op("Transpose", rows, perm=[1, 0])
        part = slice(tokens.start, tokens.stop)
        constants = _OutputScaling(f"{OUTPUT}.{tokens.start}", scales[part], output.bias[part])
        return self._product(graph, value, transposed, self._calibration.ranges[OUTPUT], constants)

    def shortlist_output(self, graph: GraphBuilder, value: str, output: OutputProjection) -> str:
        """Write the product with the table's rows as left factor: they are read without packing."""
        quantised, scales = self._table(graph, output.name, output.table)
        activation_range = self._calibration.ranges[OUTPUT]
        table = self._unsigned(graph, output.name, quantised)
        scale, zero = graph.scalar(activation_range.scale), graph.integer(0, "int8")
        states = graph.op("QuantizeLinear", value, scale, zero)  # int8 [R, d]
        columns = graph.op("Transpose", states, perm=[1, 0])
        product = _shortlist_product(graph, table, columns)  # int32 [C, R]
        by_row = graph.op("Transpose", product, perm=[1, 0])
        steps = graph.weight(f"{OUTPUT}.steps", scales * np.float32(activation_range.scale))
        scaled = graph.op("Mul", graph.op("Cast", by_row, to=1), graph.op("Gather", steps, "shortlist"))
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

    def _round(self, weights: Sequence[tuple[str, Weights]]) -> tuple[NDArray[np.int8], Weights]:
        """Return joined weights as integers and scales, each with its stored scales if it has any."""
        stored = self._calibration.scales
        rounded = [quantise_channels(weight, stored.get(name)) for name, weight in weights]
        if len(rounded) == 1:
            return rounded[0]
        integers, scales = zip(*rounded, strict=True)
        return np.concatenate(integers), np.concatenate(scales)

    def _table(self, graph: GraphBuilder, name: str, table: Weights) -> tuple[NDArray[np.int8], Weights]:
        """Return the table, rounded once for embedding, shortlist and all parts of the projection."""
        if name not in self._tables:
            self._tables[name] = self._round([(f"{graph.outermost.name}.{name}", table)])
        return self._tables[name]

    def _unsigned(self, graph: GraphBuilder, name: str, table: NDArray[np.int8]) -> str:
        """Return the table as uint8 around 128, computed when the graph is loaded: the file has only int8."""
        if name not in self._unsigned_tables:
            outermost = graph.outermost
            bits = outermost.op("Cast", graph.weight(name, table), to=2)
            self._unsigned_tables[name] = outermost.op("BitwiseXor", bits, graph.integer(UINT8_ZERO, "uint8"))
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
    zero = graph.integer(UINT8_ZERO, "uint8")
    kept.op("MatMulInteger", KEPT_ROWS, columns, zero, output=kept.named("product"))
    kept.add_empty({LISTED_ROWS: "uint8"})
    rows = gathered.op("Gather", table, "shortlist", output=gathered.named(LISTED_ROWS))  # [C, d]
    gathered.op("MatMulInteger", rows, columns, zero, output=gathered.named("product"))
    num_kept = graph.op("Shape", KEPT_ROWS, start=0, end=1)
    is_kept = graph.op("Squeeze", graph.op("Greater", num_kept, graph.ints(0)))
    graph.choose(is_kept, kept, gathered, {"product": "int32", LISTED_ROWS: "uint8"})
    return graph.named("product")


def _zero_point(graph: GraphBuilder, activation_range: ActivationRange) -> str:
    return graph.integer(UINT8_ZERO if activation_range.is_signed else 0, "uint8")


def quantise_channels(
    weight: Weights, stored: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round weight [N, K] to int8 with one scale per row.

    Args:
        weight: the weight.
        stored: scales [N] of which the weight is -128 to 127 times; None: 1/127 of each row's largest weight.

    Returns:
        int8 [N, K] and float32 [N]; their product approximates the weight, or is it if `stored` is given.
    """
    quantised = np.empty(weight.shape, np.int8)
    scales = np.empty(len(weight), np.float32)
    for first in range(0, len(weight), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        if stored is None:
            largest = np.maximum(np.abs(weight[rows]).max(axis=1), SMALLEST_ROW)
            scales[rows] = largest / INT8_MAX
        else:
            scales[rows] = stored[rows]
        levels = np.round(weight[rows] / scales[rows, None])
        quantised[rows] = np.clip(levels, INT8_MIN if stored is not None else -INT8_MAX, INT8_MAX)
    return quantised, scales
