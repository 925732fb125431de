"""The encoder graph: source ids to the cross K/V of every decoder layer, once per source."""

import onnx

from dragoman import contract
from export.graph.blocks import Writer
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision import Precision
from export.model import Transformer
from export.model.attention import Attention
from export.model.layers import EncoderLayer


def write_encoder(model: Transformer, precision: Precision, producer: str) -> onnx.ModelProto:
    """Shapes: B sources, S source tokens, H heads, D head size, d model width."""
    writer = Writer(GraphBuilder("encoder"), model, precision)
    graph = writer.graph
    length = graph.op("Shape", "source_ids", attributes={"start": 1, "end": 2})
    positions = graph.op("Slice", writer.position_table(), graph.ints(0), length, graph.ints(0))
    states = writer.embed("source_ids", positions, model.source_embedding)  # [B, S, d]
    for index, layer in enumerate(model.encoder_layers()):
        states = _layer(writer, states, f"encoder.{index}", layer)
    memory = writer.norm(states, "encoder.norm", model.encoder_norm)
    for index, decoder_layer in enumerate(model.decoder_layers()):
        _cross_keys_values(writer, memory, index, decoder_layer.cross_attention)
    config = model.config
    return graph.model(
        contract.encoder_inputs(),
        contract.encoder_outputs(config.decoder_layers),
        {"H": config.heads, "D": config.head_size},
        producer,
    )


def _layer(writer: Writer, states: str, name: str, layer: EncoderLayer) -> str:
    def attend(inputs: str) -> str:
        return _self_attention(writer, inputs, f"{name}.self_attention", layer.self_attention)

    def feed_forward(inputs: str) -> str:
        return writer.feed_forward(inputs, f"{name}.feed_forward", layer.feed_forward)

    states = writer.residual(states, f"{name}.self", layer.self_residual, attend)
    return writer.residual(states, f"{name}.feed_forward", layer.feed_forward_residual, feed_forward)


def _self_attention(writer: Writer, inputs: str, name: str, attention: Attention) -> str:
    """[B, S, d] -> [B, S, d], padding masked out."""
    queries = writer.linear(inputs, f"{name}.query", attention.query)
    keys = writer.linear(inputs, f"{name}.key", attention.key)
    value_map = attention.value
    values = keys if value_map is None else writer.linear(inputs, f"{name}.value", value_map)
    mixed = writer.graph.op(
        "MultiHeadAttention",
        queries,
        keys,
        values,
        "",
        "source_mask",
        domain=CONTRIB,
        attributes={"num_heads": attention.heads},
    )
    return writer.linear(mixed, f"{name}.output", attention.output)


def _cross_keys_values(writer: Writer, memory: str, layer: int, attention: Attention) -> None:
    """The graph's outputs for one decoder layer, each [B, H, S, D]."""
    graph = writer.graph
    name = f"decoder.{layer}.cross_attention"

    def split_heads(projected: str, output: str) -> None:
        by_head = graph.reshape(projected, 0, 0, attention.heads, attention.head_size)
        graph.op("Transpose", by_head, output=output, attributes={"perm": [0, 2, 1, 3]})

    keys = writer.linear(memory, f"{name}.key", attention.key)
    split_heads(keys, contract.cross_key(layer))
    value_map = attention.value
    values = keys if value_map is None else writer.linear(memory, f"{name}.value", value_map)
    split_heads(values, contract.cross_value(layer))
