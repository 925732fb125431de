"""Encoder graph: source ids to the cross K/V of every decoder layer, once per source."""

from collections.abc import Callable

import onnx

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.exported_graph import ExportedGraph
from export.graph.precision import Precision
from export.graph.recurrent_encoder import write_recurrent_encoder
from export.graph.relative import encoder_biases
from export.model_weights import SOURCE_TABLE, ModelWeights, attention_layers, query_key_value

SelfAttentionWriter = Callable[[str, int], str]
"""Writes self-attention: states [B, S, d] and the layer's number -> [B, S, d]."""


def write_encoder(model: ModelWeights, precision: Precision) -> ExportedGraph:
    """Write the encoder graph. B sources, S source tokens, H heads, D head size, d model width."""
    if model.config.architecture == "bahdanau":
        return write_recurrent_encoder(model, precision)
    writer = GraphWriter(GraphBuilder("encoder"), model, precision)
    graph = writer.graph
    length = graph.op("Shape", "source_ids", start=1, end=2)
    positions = None
    if model.config.positions != "relative":
        table = writer.position_table(model.source_positions)
        positions = graph.op("Slice", table, graph.ints(0), length, graph.ints(0))
    states = writer.embed("source_ids", positions, model.weights[SOURCE_TABLE])  # [B, S, d]
    states = writer.optional_norm(states, "encoder.embedding_norm")
    attend = _self_attention(writer, length)
    for index in range(model.config.encoder_layers):
        states = _layer(writer, states, index, attend)
    memory = writer.optional_norm(states, "encoder.norm")
    _cross_keys_values(writer, memory)
    config = model.config
    return graph.finish(
        contract.encoder_inputs(),
        contract.encoder_outputs(precision.cache_dtype),
        {"L": 2 * config.decoder_layers, "H": config.heads, "D": config.head_size},
    )


def _layer(writer: GraphWriter, states: str, index: int, attend: SelfAttentionWriter) -> str:
    name = f"encoder.{index}"
    states = writer.residual(states, f"{name}.self", lambda inputs: attend(inputs, index))
    return writer.feed_forward(states, f"{name}.feed_forward")


def _self_attention(writer: GraphWriter, width: str) -> SelfAttentionWriter:
    """Return the self-attention for the writer's precision.

    Args:
        writer: its precision determines the operator: float16 graphs are for GPUs.
        width: S, int64 [1].
    """
    return (
        _masked_self_attention(writer, width)
        if writer.precision.cache_dtype == "float16"
        else _unpadded_self_attention(writer, width)
    )


def _unpadded_self_attention(writer: GraphWriter, width: str) -> SelfAttentionWriter:
    """Use `GroupQueryAttention` without a past: it skips padding. Query, key and value are one product."""
    graph, heads = writer.graph, writer.model.config.heads
    ends = graph.op("Sub", "source_lengths", graph.integer(1, "int32"))
    total = graph.op("Cast", graph.op("Squeeze", width), to=onnx.TensorProto.INT32)
    bias_of = encoder_biases(writer, width)

    def attend(inputs: str, index: int) -> str:
        name = f"encoder.{index}.self_attention"
        mixed, bias = f"{name}.mixed", bias_of(index)
        unused = ("",) * 3 if bias else ()  # inputs for rotary tables and positions
        graph.node(
            "GroupQueryAttention",
            (
                writer.joined_linear(inputs, query_key_value(writer.model.config, name)),
                "",
                "",
                "",
                "",
                ends,
                total,
                *unused,
                *((bias,) if bias else ()),
            ),
            (mixed, f"{name}.keys", f"{name}.values"),
            domain=CONTRIB,
            num_heads=heads,
            kv_num_heads=heads,
            causal=0,
        )
        return writer.linear(mixed, f"{name}.output")

    return attend


def _masked_self_attention(writer: GraphWriter, width: str) -> SelfAttentionWriter:
    """Use `MultiHeadAttention`: on a GPU, `GroupQueryAttention` is not known to attend to later tokens."""
    graph, config = writer.graph, writer.model.config
    indices = graph.positions(graph.op("Squeeze", width))
    lengths = graph.op("Cast", "source_lengths", to=onnx.TensorProto.INT64)
    is_token = graph.op("Less", indices, graph.op("Unsqueeze", lengths, graph.ints(1)))
    mask = graph.op("Cast", is_token, to=onnx.TensorProto.INT32)

    def attend(inputs: str, index: int) -> str:
        name = f"encoder.{index}.self_attention"
        queries, keys, *rest = (
            writer.linear(inputs, f"{name}.{layer}") for layer in attention_layers(config)[:-1]
        )
        values = rest[0] if rest else keys
        mixed = graph.op(
            "MultiHeadAttention", queries, keys, values, "", mask, domain=CONTRIB, num_heads=config.heads
        )
        return writer.linear(mixed, f"{name}.output")

    return attend


def _cross_keys_values(writer: GraphWriter, memory: str) -> None:
    """Write the output [L, B, H, S, D]: one product makes key and value of a decoder layer."""
    graph, config = writer.graph, writer.model.config

    def project(layer: int) -> str:
        _, *names = query_key_value(config, f"decoder.{layer}.cross_attention")
        projected = writer.cached_linear(memory, names)  # [B, S, 2 x H x D]
        by_head = graph.reshape(projected, 0, 0, 2, config.heads, config.head_size)
        return graph.op("Transpose", by_head, perm=[2, 0, 3, 1, 4])

    layers = [project(index) for index in range(config.decoder_layers)]
    (port,) = contract.encoder_outputs(writer.precision.cache_dtype)
    graph.op("Concat", *layers, output=port.name, axis=0)
