"""The decoder graph: one step for every row, from the last token to the K best next ones."""

import onnx

from dragoman import contract
from export.graph.attention import CrossAttention, cross_attention, self_attention
from export.graph.blocks import Writer
from export.graph.builder import GraphBuilder
from export.graph.precision import Precision
from export.graph.projection import write_best
from export.model import Transformer
from export.model.layers import DecoderLayer


def write_decoder(model: Transformer, precision: Precision, producer: str) -> onnx.ModelProto:
    """Shapes: R rows, B sources, d model width, V target vocabulary, K candidates asked for."""
    writer = Writer(GraphBuilder("decoder"), model, precision)
    graph, config = writer.graph, model.config
    positions = graph.op("Gather", writer.position_table(), graph.op("Unsqueeze", "lengths", graph.ints(1)))
    last_ids = graph.op("Unsqueeze", "last_ids", graph.ints(1))
    states = writer.embed(last_ids, positions, model.target_embedding)  # [R, 1, d] from here on
    attend_to_source = cross_attention(writer, states)
    for index, layer in enumerate(model.decoder_layers()):
        states = _layer(writer, states, (index, layer), attend_to_source)
    states = writer.norm(states, "decoder.norm", model.decoder_norm)
    write_best(writer, graph.reshape(states, -1, config.d_model))
    return graph.model(
        contract.decoder_inputs(config.decoder_layers, precision.cache_dtype),
        contract.decoder_outputs(config.decoder_layers, precision.cache_dtype),
        {"H": config.heads, "D": config.head_size},
        producer,
    )


def _layer(
    writer: Writer, states: str, indexed: tuple[int, DecoderLayer], attend_to_source: CrossAttention
) -> str:
    index, layer = indexed
    name = f"decoder.{index}"

    def read_target(inputs: str) -> str:
        return self_attention(writer, inputs, index, layer.self_attention)

    def read_source(inputs: str) -> str:
        return attend_to_source(inputs, index, layer.cross_attention)

    def feed_forward(inputs: str) -> str:
        return writer.feed_forward(inputs, f"{name}.feed_forward", layer.feed_forward)

    states = writer.residual(states, f"{name}.self", layer.self_residual, read_target)
    states = writer.residual(states, f"{name}.cross", layer.cross_residual, read_source)
    return writer.residual(states, f"{name}.feed_forward", layer.feed_forward_residual, feed_forward)
