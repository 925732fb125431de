"""Attention in the decoder graph: over each row's target so far, and over its source.

Shapes: R rows, B sources, T positions of the caches, S source tokens, H heads, D head size, d model width.
"""

from collections.abc import Callable

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.builder import CONTRIB
from export.model_weights import query_key_value

CrossAttentionWriter = Callable[[str, int], str]
"""Writes cross-attention: queries [R, 1, H x D] and layer number -> [R, 1, d]."""


def self_attention(writer: GraphWriter, inputs: str, layer: int, bias: str) -> str:
    """Write each row's new key and value into its cache, then attend to the row's own positions.

    `GroupQueryAttention` takes one length per row, and works in place if the inputs and outputs of the caches
    are bound to the same memory.

    Args:
        writer: writer of the graph.
        inputs: [R, 1, d].
        layer: number of the layer.
        bias: added to the scores, [R, H, 1, positions of the longest row]; empty for none.
    """
    name = f"decoder.{layer}.self_attention"
    projected = writer.joined_linear(inputs, query_key_value(writer.model.config, name))
    caches = (contract.self_key(layer), contract.self_value(layer))
    mixed = _read_caches(writer, name, (projected, "", ""), caches, ("lengths", "total_length"), bias)
    return writer.linear(mixed, f"{name}.output")


def cross_attention(writer: GraphWriter) -> CrossAttentionWriter:
    """Return the cross-attention for the writer's precision, which determines how cross K/V are kept."""
    if writer.precision.cache_dtype == "int8":
        return _cross_attention_by_row(writer)
    return _cross_attention_by_source(writer)


def _cross_attention_by_source(writer: GraphWriter) -> CrossAttentionWriter:
    """Return cross-attention with a source's beams as its query positions, so they share its cross K/V."""
    graph = writer.graph
    width = writer.model.config.attention_size
    num_sources = graph.op("Shape", "source_mask", start=0, end=1)
    by_source = graph.op("Concat", num_sources, graph.ints(-1, width), axis=0)

    def attend(queries: str, layer: int) -> str:
        name = f"decoder.{layer}.cross_attention"
        mixed = graph.op(
            "MultiHeadAttention",
            graph.op("Reshape", queries, by_source),
            contract.cross_key(layer),
            contract.cross_value(layer),
            "",
            "source_mask",
            domain=CONTRIB,
            num_heads=writer.model.config.heads,
        )
        return writer.linear(graph.reshape(mixed, -1, 1, width), f"{name}.output")

    return attend


def _cross_attention_by_row(writer: GraphWriter) -> CrossAttentionWriter:
    """Return cross-attention in which each row reads only its own source's tokens.

    It is self-attention to a past that does not grow. `MultiHeadAttention` would also compute padding.
    """
    graph = writer.graph
    empty: list[str] = []  # [R, 0, H x D], written once

    def attend(queries: str, layer: int) -> str:
        if not empty:
            empty.append(graph.op("Slice", queries, graph.ints(1), graph.ints(1), graph.ints(1)))
        name = f"decoder.{layer}.cross_attention"
        caches = (contract.cross_key(layer), contract.cross_value(layer))
        lengths = ("source_ends", "source_width")
        mixed = _read_caches(writer, name, (queries, empty[0], empty[0]), caches, lengths, "")
        return writer.linear(mixed, f"{name}.output")

    return attend


def _read_caches(
    writer: GraphWriter,
    name: str,
    projected: tuple[str, str, str],
    caches: tuple[str, str],
    lengths: tuple[str, str],
    bias: str,
) -> str:
    """Write `GroupQueryAttention` with one query per row.

    Args:
        writer: writer of the graph.
        name: name of the attention in the model.
        projected: query, key and value; or all three joined in the first.
        caches: caches of keys and values.
        lengths: positions before the new one in each row [R], and the most of any row, the new one included.
        bias: added to the scores; empty for none.

    Returns:
        [R, 1, H x D].
    """
    heads = writer.model.config.heads
    steps, rounding = _quantisation(writer)
    # inputs for rotary tables and positions, the bias, and sinks
    others = ("", "", "", bias, "") if steps else ("", "", "", bias) if bias else ()
    mixed = f"{name}.mixed"
    writer.graph.node(
        "GroupQueryAttention",
        (*projected, *caches, *lengths, *others, *steps),
        (mixed, *(contract.NEW_PREFIX + cache for cache in caches)),
        domain=CONTRIB,
        num_heads=heads,
        kv_num_heads=heads,
        **rounding,
    )
    return mixed


def _quantisation(writer: GraphWriter) -> tuple[tuple[str, ...], dict[str, str | int]]:
    """Return inputs and attributes with which `GroupQueryAttention` keeps int8 K/V; none for other K/V."""
    step = writer.precision.cache_step(writer.graph)
    if step is None:
        return (), {}
    rounding: dict[str, str | int] = {
        "k_quant_type": "PER_TENSOR",
        "v_quant_type": "PER_TENSOR",
        "kv_cache_bit_width": 8,
    }
    return (step, step), rounding
