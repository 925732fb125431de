"""Decoder graph: one step for every row, from its last token to the K best next tokens."""

from dragoman import contract
from export.graph.attention import CrossAttentionWriter, cross_attention, self_attention
from export.graph.blocks import GraphWriter
from export.graph.builder import GraphBuilder
from export.graph.exported_graph import ExportedGraph
from export.graph.precision import Precision
from export.graph.projection import write_logprobs
from export.graph.recurrence import self_recurrence
from export.graph.recurrent_decoder import write_recurrent_decoder
from export.graph.relative import LayerBias, decoder_biases
from export.model_weights import ModelWeights


def write_decoder(model: ModelWeights, precision: Precision, alignment_layer: int) -> ExportedGraph:
    """Write the decoder graph with the queries of `alignment_layer` as output. R rows, d model width."""
    if model.config.architecture == "bahdanau":
        return write_recurrent_decoder(model, precision)
    writer = GraphWriter(GraphBuilder("decoder"), model, precision)
    graph, config = writer.graph, model.config
    positions = None
    if config.positions != "relative":
        table = writer.position_table(model.target_positions)
        positions = graph.op("Gather", table, graph.op("Unsqueeze", "lengths", graph.ints(1)))
    last_ids = graph.op("Unsqueeze", "last_ids", graph.ints(1))
    states = writer.embed(last_ids, positions, model.target_embedding)  # [R, 1, d] from here on
    states = writer.optional_norm(states, "decoder.embedding_norm")
    attend, bias_of = cross_attention(writer), decoder_biases(writer)

    def attend_to_source(queries: str, index: int) -> str:
        if index == alignment_layer:
            queries = graph.rename(queries, contract.QUERIES)
        return attend(queries, index)

    for index in range(config.decoder_layers):
        states = _layer(writer, states, index, bias_of, attend_to_source)
    states = writer.optional_norm(states, "decoder.norm")
    write_logprobs(writer, graph.reshape(states, -1, config.d_model))
    shape = (config.decoder_layers, precision.cache_dtype, config.autoregression)
    return graph.finish(
        contract.decoder_inputs(*shape),
        contract.decoder_outputs(*shape),
        {"H": config.heads, "D": config.head_size, "A": config.attention_size, "N": config.d_model, "1": 1},
    )


def _layer(
    writer: GraphWriter, states: str, index: int, bias_of: LayerBias, attend: CrossAttentionWriter
) -> str:
    name = f"decoder.{index}"

    def read_target(inputs: str) -> str:
        if writer.model.config.autoregression == "ssru":
            return self_recurrence(writer, inputs, index)
        return self_attention(writer, inputs, index, bias_of(index))

    def read_source(inputs: str) -> str:
        return attend(writer.linear(inputs, f"{name}.cross_attention.query"), index)

    states = writer.residual(states, f"{name}.self", read_target)
    states = writer.residual(states, f"{name}.cross", read_source)
    return writer.feed_forward(states, f"{name}.feed_forward")
