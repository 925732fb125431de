"""4-bit weights for decoder steps of few rows, which take as long as reading the weights takes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.contract import CacheDType
from export.calibration import Calibration
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision.four_bits import BLOCK_SIZE, round_to_blocks
from export.graph.precision.int8 import Int8
from export.graph.precision.protocol import LinearLayer, Output, Weights

INT8_PRODUCTS = 4
"""`accuracy_level` with which `MatMulNBits` rounds each block of a row to int8 by the block's own maximum."""


class Int4:
    """The decoder's linear layers in 4 bits; caches and the embedding table as in `Int8`.

    Inputs are rounded within their row, so a row's result depends only on the row.
    """

    name = "int4"
    cache_dtype: CacheDType = "int8"
    can_use_shortlists = True
    real: type[np.floating[Any]] = np.float32

    def __init__(self, calibration: Calibration) -> None:
        self._moments = calibration.moments
        self._int8 = Int8(calibration)

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        num_outputs, num_inputs = weight.shape
        blocks = round_to_blocks(weight, self._moments[name])
        return graph.op(
            "MatMulNBits",
            value,
            graph.weight(f"{name}.weight", blocks.packed()),
            graph.weight(f"{name}.scales", blocks.scales.reshape(-1)),
            "",
            "",
            graph.weight(f"{name}.bias", bias),
            domain=CONTRIB,
            attributes={
                "K": num_inputs,
                "N": num_outputs,
                "bits": 4,
                "block_size": BLOCK_SIZE,
                "accuracy_level": INT8_PRODUCTS,
            },
        )

    def cached_linear(self, graph: GraphBuilder, value: str, maps: Sequence[LinearLayer]) -> str:
        return self._int8.cached_linear(graph, value, maps)

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        return self._int8.embedding(graph, ids, name, table, factor)

    def output(self, graph: GraphBuilder, value: str, output: Output, tokens: range) -> str:
        return self._int8.output(graph, value, output, tokens)

    def shortlist_output(self, graph: GraphBuilder, value: str, output: Output) -> str:
        return self._int8.shortlist_output(graph, value, output)

    def cache_step(self, graph: GraphBuilder) -> str | None:
        return self._int8.cache_step(graph)
