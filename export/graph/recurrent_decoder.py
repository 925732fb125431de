"""Decoder graph of the recurrent model: one step for every row; `export.model.bahdanau` has the equations.

Shapes: R rows, E entries of the cross caches (rows, or with float caches sources), b rows of an entry (1, or
the beams of a source), S source tokens, d model width.
"""

import numpy as np
from onnx import TensorProto

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.builder import GraphBuilder
from export.graph.exported_graph import ExportedGraph
from export.graph.precision import Precision
from export.graph.projection import write_logprobs
from export.graph.recurrence import ANNOTATION_STEP, cast, gru_step, split_last
from export.model_weights import ModelWeights
from export.recurrent_weights import CELL, GATES, KEY_STEPS, QUERY, READOUTS, SCORE, START

CROSS_KEY, CROSS_VALUE, STATE = contract.cross_key(0), contract.cross_value(0), contract.cell(0)


def write_recurrent_decoder(model: ModelWeights, precision: Precision) -> ExportedGraph:
    """Write the decoder graph, with the step's attention as output."""
    writer = GraphWriter(GraphBuilder("decoder"), model, precision)
    graph, width = writer.graph, model.config.d_model
    keys, annotations = _keys(writer), _annotations(writer)
    state = _state_before(writer, annotations)
    products = writer.joined_linear(state, [CELL, QUERY])
    *from_state, query = split_last(graph, products, (2 * width, width, width))
    context = _context(writer, _attention(writer, query, keys), annotations)
    embedded = writer.embed("last_ids", None, model.target_embedding)  # [R, d]
    of_token, of_context = (
        split_last(graph, writer.joined_linear(value, [gates, readout]), (2 * width, width, 2 * width))
        for value, gates, readout in zip((embedded, context), GATES, READOUTS[:2], strict=True)
    )
    opening, new, pairs = (graph.op("Add", *both) for both in zip(of_token, of_context, strict=True))
    state = gru_step(graph, (opening, new), (from_state[0], from_state[1]), state, width)
    graph.op("Identity", cast(writer, state, to_float32=True), output=contract.NEW_PREFIX + STATE)
    pairs = graph.op("Add", writer.linear(state, READOUTS[2]), pairs)
    by_pair = graph.reshape(pairs, -1, width, 2)
    write_logprobs(writer, graph.op("ReduceMax", by_pair, graph.ints(-1), keepdims=0))
    shape = (1, precision.cache_dtype, model.config.autoregression)
    return graph.finish(
        contract.decoder_inputs(*shape),
        contract.decoder_outputs(*shape),
        {"H": 1, "D": width, "A": width, "N": width, "1": 1},
    )


def _keys(writer: GraphWriter) -> str:
    """Return U_a h_j, [E, 1, S, d]."""
    graph, steps = writer.graph, writer.model.weights.get(KEY_STEPS)
    keys = CROSS_KEY
    if writer.precision.cache_dtype == "int8":
        keys = graph.op("Cast", keys, to=TensorProto.FLOAT)
    return keys if steps is None else graph.op("Mul", keys, graph.weight(KEY_STEPS, steps))


def _annotations(writer: GraphWriter) -> str:
    """Return h_j, [E, 1, S, d]; with int8 caches in quantisation steps."""
    if writer.precision.cache_dtype != "int8":
        return CROSS_VALUE
    return writer.graph.op("Cast", CROSS_VALUE, to=TensorProto.FLOAT)


def _in_units(writer: GraphWriter, value: str) -> str:
    """Return a mean of annotations in their own units."""
    if writer.precision.cache_dtype != "int8":
        return value
    return writer.graph.op("Mul", value, writer.graph.scalar(ANNOTATION_STEP))


def _state_before(writer: GraphWriter, annotations: str) -> str:
    """Return s_(i-1) of every row, [R, d]: its cell, or s_0 if it has read nothing.

    The cell is read only here, before the step writes it, so that input and output may be the same memory.
    """
    graph, width = writer.graph, writer.model.config.d_model
    ends = (graph.ints(0, width // 2), graph.ints(1, width), graph.ints(2, 3))
    first = _in_units(writer, graph.op("Slice", annotations, *ends))  # [E, 1, 1, d / 2]
    start = graph.op("Tanh", writer.linear(graph.reshape(first, 0, 1, width // 2), START))  # [E, 1, d]
    cells = _by_entry(writer, cast(writer, STATE, to_float32=False), width)
    is_new = graph.op("Equal", "lengths", graph.integer(0, "int32"))
    chosen = graph.op("Where", _by_entry(writer, is_new, 1), start, cells)  # [E, b, d]
    return graph.reshape(chosen, -1, width)


def _attention(writer: GraphWriter, query: str, keys: str) -> str:
    """Return how much each row reads of each source token, [E, b, S]; also write it as an output.

    ReduceSum adds up the products, CumSum the shares from left to right: with MatMul and Softmax, a row's
    sums would depend on other sources.
    """
    graph, width = writer.graph, writer.model.config.d_model
    queries = graph.op("Unsqueeze", _by_entry(writer, query, width), graph.ints(2))  # [E, b, 1, d]
    hidden = graph.op("Tanh", graph.op("Add", queries, keys))  # [E, b, S, d]
    score = graph.weight(SCORE, writer.constant(writer.model.weights[SCORE][0]))
    scores = graph.op("ReduceSum", graph.op("Mul", hidden, score), graph.ints(-1), keepdims=0)
    impossible = graph.weight("impossible.score", np.array(-np.inf, writer.precision.real))
    possible = graph.op("Where", _is_token(writer), scores, impossible)
    largest = graph.op("ReduceMax", possible, graph.ints(-1))
    shares = graph.op("Exp", graph.op("Sub", possible, largest))
    sums = graph.op("CumSum", cast(writer, shares, to_float32=True), graph.ints(-1))
    ends = (graph.ints(-1), graph.ints(np.iinfo(np.int64).max), graph.ints(-1))
    total = cast(writer, graph.op("Slice", sums, *ends), to_float32=False)
    weights = graph.op("Div", shares, total)
    by_row = graph.op("Concat", graph.ints(-1), graph.op("Shape", keys, start=2, end=3), axis=0)
    graph.op("Reshape", cast(writer, weights, to_float32=True), by_row, output=contract.ATTENTION)
    return weights


def _is_token(writer: GraphWriter) -> str:
    """Return whether a position is a token of the entry's source, bool [E, 1, S]."""
    graph = writer.graph
    if writer.precision.cache_dtype != "int8":
        is_token = graph.op("Cast", "source_mask", to=TensorProto.BOOL)
        return graph.op("Unsqueeze", is_token, graph.ints(1))
    zero, one = (graph.op("Squeeze", graph.integer(value, "int32")) for value in (0, 1))
    positions = graph.op("Range", zero, "source_width", one)
    return graph.op("LessOrEqual", positions, graph.op("Unsqueeze", "source_ends", graph.ints(1, 2)))


def _context(writer: GraphWriter, weights: str, annotations: str) -> str:
    """Return c_i, [R, d]."""
    graph, width = writer.graph, writer.model.config.d_model
    by_entry = graph.op("MatMul", weights, graph.op("Squeeze", annotations, graph.ints(1)))  # [E, b, d]
    return _in_units(writer, graph.reshape(by_entry, -1, width))


def _by_entry(writer: GraphWriter, value: str, size: int) -> str:
    """Return values of rows by entry: [R, ...] -> [E, b, size]."""
    graph = writer.graph
    num_entries = graph.op("Shape", CROSS_KEY, start=0, end=1)
    shape = graph.op("Concat", num_entries, graph.ints(-1, size), axis=0)
    return graph.op("Reshape", value, shape)
