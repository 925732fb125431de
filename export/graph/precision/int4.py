"""4-bit weights for decoder steps of few rows, which take as long as reading the weights takes."""

from collections.abc import Sequence

from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision.four_bits import BLOCK_SIZE, round_to_blocks
from export.graph.precision.int8 import Int8
from export.graph.precision.protocol import LinearLayer, join_layers

INT8_PRODUCTS = 4
"""`accuracy_level` with which `MatMulNBits` rounds each block of a row to int8 by the block's own maximum."""


class Int4(Int8):
    """The decoder's linear layers in 4 bits; caches and the embedding table as in `Int8`.

    Inputs are rounded within their row, so a row's result depends only on the row.
    """

    name = "int4"

    def linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        name, weight, bias = join_layers(layers)
        num_outputs, num_inputs = weight.shape
        blocks = round_to_blocks(weight, self._calibration.moments[name])
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
