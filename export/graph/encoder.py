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
    _cross_keys_values(writer, memory)
    config = model.config
    return graph.model(
        contract.encoder_inputs(),
        contract.encoder_outputs(precision.cache_dtype),
        {"L": 2 * config.decoder_layers, "H": config.heads, "D": config.head_size},
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


def _cross_keys_values(writer: Writer, memory: str) -> None:
    """The graph's output [L, B, H, S, D]: one product makes key and value of a decoder layer."""
    graph, config = writer.graph, writer.model.config

    def project(layer: int, attention: Attention) -> str:
        name = f"decoder.{layer}.cross_attention"
        maps = [(f"{name}.key", attention.key)] * 2
        if attention.value is not None:
            maps[1] = (f"{name}.value", attention.value)
        projected = writer.cached_linear(memory, maps)  # [B, S, 2 x d]
        by_head = graph.reshape(projected, 0, 0, 2, config.heads, config.head_size)
        return graph.op("Transpose", by_head, attributes={"perm": [2, 0, 3, 1, 4]})

    layers = [
        project(index, layer.cross_attention) for index, layer in enumerate(writer.model.decoder_layers())
    ]
    (port,) = contract.encoder_outputs(writer.precision.cache_dtype)
    graph.op("Concat", *layers, output=port.name, attributes={"axis": 0})
