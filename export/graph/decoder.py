"""The decoder graph: one step for every row, from the last token to the K best next ones."""

import onnx

from dragoman import contract
from export.graph.blocks import Writer
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.precision import Precision
from export.graph.projection import write_best
from export.model import Transformer
from export.model.attention import Attention
from export.model.layers import DecoderLayer


def write_decoder(model: Transformer, precision: Precision, producer: str) -> onnx.ModelProto:
    """Shapes: R rows, B sources, d model width, V target vocabulary, K candidates asked for."""
    writer = Writer(GraphBuilder("decoder"), model, precision)
    graph, config = writer.graph, model.config
    positions = graph.op("Gather", writer.position_table(), graph.op("Unsqueeze", "lengths", graph.ints(1)))
    last_ids = graph.op("Unsqueeze", "last_ids", graph.ints(1))
    states = writer.embed(last_ids, positions, model.target_embedding)  # [R, 1, d] from here on
    by_source = graph.op(
        "Concat",
        graph.op("Shape", "source_mask", attributes={"start": 0, "end": 1}),
        graph.ints(-1, config.d_model),
        attributes={"axis": 0},
    )
    for index, layer in enumerate(model.decoder_layers()):
        states = _layer(writer, states, (index, layer), by_source)
    states = writer.norm(states, "decoder.norm", model.decoder_norm)
    write_best(writer, graph.reshape(states, -1, config.d_model))
    return graph.model(
        contract.decoder_inputs(config.decoder_layers, precision.cache_dtype),
        contract.decoder_outputs(config.decoder_layers, precision.cache_dtype),
        {"H": config.heads, "D": config.head_size},
        producer,
    )


def _layer(writer: Writer, states: str, indexed: tuple[int, DecoderLayer], by_source: str) -> str:
    index, layer = indexed
    name = f"decoder.{index}"

    def attend_to_target(inputs: str) -> str:
        return _self_attention(writer, inputs, index, layer.self_attention)

    def attend_to_source(inputs: str) -> str:
        return _cross_attention(writer, inputs, (index, layer.cross_attention), by_source)

    def feed_forward(inputs: str) -> str:
        return writer.feed_forward(inputs, f"{name}.feed_forward", layer.feed_forward)

    states = writer.residual(states, f"{name}.self", layer.self_residual, attend_to_target)
    states = writer.residual(states, f"{name}.cross", layer.cross_residual, attend_to_source)
    return writer.residual(states, f"{name}.feed_forward", layer.feed_forward_residual, feed_forward)


def _self_attention(writer: Writer, inputs: str, layer: int, attention: Attention) -> str:
    """Write each row's new key and value into its cache, then read the row's own positions.

    `GroupQueryAttention` takes one length per row and works in place where the caches' inputs and
    outputs are bound to the same memory.
    """
    graph, name = writer.graph, f"decoder.{layer}.self_attention"
    maps = (attention.query, attention.key, attention.value or attention.key)
    projected = writer.joined_linear(inputs, f"{name}.query", maps)
    scales, rounding = _cache_rounding(writer, name, attention)
    mixed = f"{name}.mixed"
    graph.node(
        "GroupQueryAttention",
        (
            projected,
            "",
            "",
            contract.self_key(layer),
            contract.self_value(layer),
            "lengths",
            "total_length",
            *scales,
        ),
        (mixed, contract.new_self_key(layer), contract.new_self_value(layer)),
        domain=CONTRIB,
        attributes={"num_heads": attention.heads, "kv_num_heads": attention.heads, **rounding},
    )
    return writer.linear(mixed, f"{name}.output", attention.output)


def _cache_rounding(
    writer: Writer, name: str, attention: Attention
) -> tuple[tuple[str, ...], dict[str, str | int]]:
    """Inputs and attributes with which `GroupQueryAttention` keeps K/V as int8; none where they are fp32."""
    key = writer.precision.cache_scale(writer.graph, f"{name}.key", attention.heads)
    if key is None:
        return (), {}
    value_name = f"{name}.key" if attention.value is None else f"{name}.value"
    value = writer.precision.cache_scale(writer.graph, value_name, attention.heads)
    unused = ("",) * 5  # rotary tables, positions, bias, sinks
    rounding: dict[str, str | int] = {
        "k_quant_type": "PER_CHANNEL",
        "v_quant_type": "PER_CHANNEL",
        "kv_cache_bit_width": 8,
    }
    return (*unused, key, value or key), rounding


def _cross_attention(writer: Writer, inputs: str, indexed: tuple[int, Attention], by_source: str) -> str:
    """Beams of a source are query positions of that source, so they share its cross K/V."""
    layer, attention = indexed
    graph, name = writer.graph, f"decoder.{layer}.cross_attention"
    queries = writer.linear(inputs, f"{name}.query", attention.query)
    mixed = graph.op(
        "MultiHeadAttention",
        graph.op("Reshape", queries, by_source),
        contract.cross_key(layer),
        contract.cross_value(layer),
        "",
        "source_mask",
        domain=CONTRIB,
        attributes={"num_heads": attention.heads},
    )
    width = attention.heads * attention.head_size
    return writer.linear(graph.reshape(mixed, -1, 1, width), f"{name}.output", attention.output)
