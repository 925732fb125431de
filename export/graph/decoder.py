"""Decoder graph: one step for every row, from its last token to the K best next tokens."""

from dragoman import contract
from export.graph.attention import CrossAttentionWriter, cross_attention, self_attention
from export.graph.blocks import GraphWriter
from export.graph.builder import GraphBuilder
from export.graph.precision import Precision
from export.graph.projection import write_logprobs
from export.graph.recurrence import self_recurrence
from export.graph.written import ExportedGraph
from export.model import Transformer
from export.model.attention import Attention
from export.model.layers import DecoderLayer


def write_decoder(
    model: Transformer, precision: Precision, alignment_layer: int, producer: str
) -> ExportedGraph:
    """Write the decoder graph with the queries of `alignment_layer` as output. R rows, d model width."""
    writer = GraphWriter(GraphBuilder("decoder"), model, precision)
    graph, config = writer.graph, model.config
    table = writer.position_table(model.target_positions)
    positions = graph.op("Gather", table, graph.op("Unsqueeze", "lengths", graph.ints(1)))
    last_ids = graph.op("Unsqueeze", "last_ids", graph.ints(1))
    states = writer.embed(last_ids, positions, model.target_embedding)  # [R, 1, d] from here on
    states = writer.norm(states, "decoder.embedding_norm", model.decoder_embedding_norm)
    attend = cross_attention(writer, states)

    def attend_to_source(queries: str, index: int, attention: Attention) -> str:
        if index == alignment_layer:
            queries = graph.rename(queries, contract.QUERIES)
        return attend(queries, index, attention)

    for index, layer in enumerate(model.decoder_layers()):
        states = _layer(writer, states, (index, layer), attend_to_source)
    states = writer.norm(states, "decoder.norm", model.decoder_norm)
    write_logprobs(writer, graph.reshape(states, -1, config.d_model))
    shape = (config.decoder_layers, precision.cache_dtype, config.autoregression)
    return graph.finish(
        contract.decoder_inputs(*shape),
        contract.decoder_outputs(*shape),
        {"H": config.heads, "D": config.head_size, "N": config.d_model, "1": 1},
        producer,
    )


def _layer(
    writer: GraphWriter, states: str, indexed: tuple[int, DecoderLayer], attend: CrossAttentionWriter
) -> str:
    index, layer = indexed
    name = f"decoder.{index}"

    def read_target(inputs: str) -> str:
        if writer.model.config.autoregression == "ssru":
            return self_recurrence(writer, inputs, index, layer.self_recurrence)
        return self_attention(writer, inputs, index, layer.self_attention)

    def read_source(inputs: str) -> str:
        attention = layer.cross_attention
        queries = writer.linear(inputs, f"{name}.cross_attention.query", attention.query)
        return attend(queries, index, attention)

    def feed_forward(inputs: str) -> str:
        return writer.feed_forward(inputs, f"{name}.feed_forward", layer.feed_forward)

    states = writer.residual(states, f"{name}.self", layer.self_residual, read_target)
    states = writer.residual(states, f"{name}.cross", layer.cross_residual, read_source)
    return writer.residual(states, f"{name}.feed_forward", layer.feed_forward_residual, feed_forward)
