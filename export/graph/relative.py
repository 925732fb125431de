"""Relative position biases as inputs of attention operators.

Shapes: R rows, S source tokens, T positions of the longest row's state and its new one, H heads.
"""

from collections.abc import Callable

from onnx import TensorProto

from export.graph.blocks import GraphWriter
from export.relative_positions import biases_by_distance

LayerBias = Callable[[int], str]
"""Returns the bias that a layer adds to its scores; an empty name if it adds none."""


def encoder_biases(writer: GraphWriter, width: str) -> LayerBias:
    """Return the biases of the encoder, [1, H, S, S] each.

    Args:
        writer: writer of the encoder graph.
        width: S, int64 [1].
    """
    if writer.model.config.positions != "relative":
        return _no_bias
    graph, reach = writer.graph, writer.model.config.relative_max_distance
    token_positions = graph.positions(graph.op("Squeeze", width))
    distances = graph.op(
        "Sub", token_positions, graph.op("Unsqueeze", token_positions, graph.ints(1))
    )  # key minus query
    near = graph.op("Max", graph.op("Min", distances, graph.ints(reach)), graph.ints(-reach))
    indices = graph.op("Add", near, graph.ints(reach))  # [S, S]

    def write(table: str) -> str:
        by_head = graph.op("Gather", table, indices, axis=1)
        return graph.op("Unsqueeze", by_head, graph.ints(0))

    return _by_layer(writer, "encoder", write)


def decoder_biases(writer: GraphWriter) -> LayerBias:
    """Return the biases of the decoder, [R, H, 1, T] each: of each row's new position to those before it.

    A row has its own number of positions. Later ones have any bias, as its attention does not read them.
    """
    if writer.model.config.positions != "relative":
        return _no_bias
    graph, reach = writer.graph, writer.model.config.relative_max_distance
    token_positions = graph.positions(graph.op("Cast", "total_length", to=TensorProto.INT64))
    lengths = graph.op("Unsqueeze", graph.op("Cast", "lengths", to=TensorProto.INT64), graph.ints(1))
    distances = graph.op("Max", graph.op("Sub", lengths, token_positions), graph.ints(0))
    indices = graph.op("Min", distances, graph.ints(reach))  # [R, T]

    def write(table: str) -> str:
        by_head = graph.op("Gather", table, indices, axis=1)  # [H, R, T]
        by_row = graph.op("Transpose", by_head, perm=[1, 0, 2])
        return graph.op("Unsqueeze", by_row, graph.ints(2))

    return _by_layer(writer, "decoder", write)


def _by_layer(writer: GraphWriter, stack: str, write: Callable[[str], str]) -> LayerBias:
    """Return the biases of a stack; `write` makes them from the name of biases by distance [H, distances]."""
    written: dict[int, str] = {}

    def find(layer: int) -> str:
        owner = 0 if writer.model.config.shared_relative else layer
        if owner not in written:
            table = biases_by_distance(
                writer.model.config,
                writer.model.relative_bias(stack, owner),
                is_bidirectional=stack == "encoder",
            )
            name = writer.graph.weight(f"{stack}.{owner}.relative_bias", writer.constant(table))
            written[owner] = write(name)
        return written[owner]

    return find


def _no_bias(_: int) -> str:
    return ""
