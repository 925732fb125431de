"""The decoder's attentions: to what each row has said so far, and to its source.

Shapes: R rows, B sources, T positions of the caches, S source tokens, H heads, D head size, d = H x D.
"""

from collections.abc import Callable

from dragoman import contract
from export.graph.blocks import Postprocessor
from export.graph.builder import CONTRIB
from export.model.attention import Attention

CrossAttention = Callable[[str, int, Attention], str]
"""From queries [R, 1, d], a layer's number and its attention to [R, 1, d]."""


def self_attention(writer: Postprocessor, inputs: str, layer: int, attention: Attention) -> str:
    """Write each row's new key and value into its cache, then read the row's own positions.

    `GroupQueryAttention` takes one length per row and works in place where the caches' inputs and
    outputs are bound to the same memory.
    """
    name = f"decoder.{layer}.self_attention"
    maps = (attention.query, attention.key, attention.value or attention.key)
    projected = writer.joined_linear(inputs, f"{name}.query", maps)
    caches = (contract.self_key(layer), contract.self_value(layer))
    mixed = _read_caches(writer, (name, attention), (projected, "", ""), caches, ("lengths", "total_length"))
    return writer.linear(mixed, f"{name}.output", attention.output)


def cross_attention(writer: Postprocessor, states: str) -> CrossAttention:
    """How layers read the source.

    Args:
        writer: whose precision tells how cross K/V are kept.
        states: anything of shape [R, 1, d].
    """
    if writer.precision.cache_dtype == "int8":
        return _own_to_each_row(writer, states)
    return _shared_by_beams(writer)


def _shared_by_beams(writer: Postprocessor) -> CrossAttention:
    """Beams of a source are query positions of that source, so they share its cross K/V."""
    graph = writer.graph
    width = writer.model.config.d_model
    num_sources = graph.op("Shape", "source_mask", attributes={"start": 0, "end": 1})
    by_source = graph.op("Concat", num_sources, graph.ints(-1, width), attributes={"axis": 0})

    def attend(queries: str, layer: int, attention: Attention) -> str:
        name = f"decoder.{layer}.cross_attention"
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
        return writer.linear(graph.reshape(mixed, -1, 1, width), f"{name}.output", attention.output)

    return attend


def _own_to_each_row(writer: Postprocessor, states: str) -> CrossAttention:
    """Like self-attention to a past that gets nothing new: only the source's own tokens are read.

    `MultiHeadAttention` pays for the padding of every source beside a long one.
    """
    graph = writer.graph
    nothing = graph.op("Slice", states, graph.ints(1), graph.ints(1), graph.ints(1))  # [R, 0, d]

    def attend(queries: str, layer: int, attention: Attention) -> str:
        name = f"decoder.{layer}.cross_attention"
        caches = (contract.cross_key(layer), contract.cross_value(layer))
        lengths = ("source_ends", "source_width")
        mixed = _read_caches(writer, (name, attention), (queries, nothing, nothing), caches, lengths)
        return writer.linear(mixed, f"{name}.output", attention.output)

    return attend


def _read_caches(
    writer: Postprocessor,
    named: tuple[str, Attention],
    projected: tuple[str, str, str],
    caches: tuple[str, str],
    lengths: tuple[str, str],
) -> str:
    """`GroupQueryAttention` with one query a row.

    Args:
        writer: of the graph.
        named: the attention, with its name in the model.
        projected: query, key and value; or all three in the first.
        caches: key's and value's.
        lengths: positions before the new one in each row [R], and the most of any row, the new one included.

    Returns:
        [R, 1, d].
    """
    name, attention = named
    steps, rounding = _rounding(writer)
    mixed = f"{name}.mixed"
    writer.graph.node(
        "GroupQueryAttention",
        (*projected, *caches, *lengths, *steps),
        (mixed, *(contract.NEW_PREFIX + cache for cache in caches)),
        domain=CONTRIB,
        attributes={"num_heads": attention.heads, "kv_num_heads": attention.heads, **rounding},
    )
    return mixed


def _rounding(writer: Postprocessor) -> tuple[tuple[str, ...], dict[str, str | int]]:
    """Inputs and attributes with which `GroupQueryAttention` keeps K/V as int8; none where they are not."""
    step = writer.precision.cache_step(writer.graph)
    if step is None:
        return (), {}
    unused = ("",) * 5  # rotary tables, positions, bias, sinks
    rounding: dict[str, str | int] = {
        "k_quant_type": "PER_TENSOR",
        "v_quant_type": "PER_TENSOR",
        "kv_cache_bit_width": 8,
    }
    return (*unused, step, step), rounding
