"""Encoder graph of the recurrent model: source ids to projected and plain annotations, once per source.

Products of the tokens are one product over all positions. Only those of the states are in the loop.
Shapes: B sources, S source tokens, d model width.
"""

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.builder import ELEMENT_TYPES, GraphBuilder
from export.graph.exported_graph import ExportedGraph
from export.graph.precision import Precision
from export.graph.recurrence import ANNOTATION_STEP, gru_step, split_last
from export.model_weights import SOURCE_TABLE, ModelWeights
from export.recurrent_weights import DIRECTIONS, KEY

STATES = ("state.0", "state.1")
"""Names of the states of the two directions in the loop; the second one is backward."""
GATES = ("gates.0", "gates.1")
TOKENS = "is_token"


def write_recurrent_encoder(model: ModelWeights, precision: Precision) -> ExportedGraph:
    """Write the encoder graph."""
    writer = GraphWriter(GraphBuilder("encoder"), model, precision)
    graph, width = writer.graph, model.config.d_model
    embedded = writer.embed("source_ids", None, model.weights[SOURCE_TABLE])  # [B, S, d]
    gates = writer.joined_linear(embedded, [f"{name}.embedding_gates" for name in DIRECTIONS])
    forwards, backwards = split_last(graph, gates, (3 * width // 2, 3 * width // 2))
    after = graph.scan(
        _body(writer),
        dict.fromkeys(STATES, _zeros(writer)),
        dict(zip((*GATES, TOKENS), (forwards, backwards, _tokens(writer)), strict=True)),
        backwards=(STATES[1], GATES[1], TOKENS),
    )
    annotations = graph.op("Concat", *after.values(), axis=-1)  # [B, S, d]
    _cross(writer, annotations)
    return graph.finish(
        contract.encoder_inputs(),
        contract.encoder_outputs(precision.cache_dtype),
        {"L": 2, "H": 1, "D": width},
    )


def _body(outer: GraphWriter) -> GraphBuilder:
    """Return the loop's body: one position of each direction.

    The backward state stays zero until the source's last token, so padding does not change it.
    """
    graph, size = GraphBuilder("position", outer.graph), outer.model.config.d_model // 2
    writer = replace(outer, graph=graph)
    next_states = []
    for direction, state, gates in zip(
        DIRECTIONS, map(graph.named, STATES), map(graph.named, GATES), strict=True
    ):
        opening, new = split_last(graph, gates, (2 * size, size))
        from_state = writer.linear(state, f"{direction}.cell.state_gates")
        state_opening, state_new = split_last(graph, from_state, (2 * size, size))
        next_states.append(gru_step(graph, (opening, new), (state_opening, state_new), state, size))
    forward, backward = next_states
    graph.op("Identity", forward, output=graph.named(f"next.{STATES[0]}"))
    graph.op("Mul", backward, graph.named(TOKENS), output=graph.named(f"next.{STATES[1]}"))
    return graph


def _tokens(writer: GraphWriter) -> str:
    """Return 1 on real tokens and 0 on padding, [B, S, 1]."""
    graph = writer.graph
    zero, one = (graph.integer(value, "int64") for value in (0, 1))
    length = graph.op("Squeeze", graph.op("Shape", "source_ids", start=1, end=2))
    positions = graph.op("Range", graph.op("Squeeze", zero), length, graph.op("Squeeze", one))
    lengths = graph.op("Cast", "source_lengths", to=TensorProto.INT64)
    is_token = graph.op("Less", positions, graph.op("Unsqueeze", lengths, graph.ints(1)))
    real = graph.op("Cast", is_token, to=_real(writer))
    return graph.op("Unsqueeze", real, graph.ints(2))


def _zeros(writer: GraphWriter) -> str:
    """Return the state before the first position of a direction, [B, d / 2]."""
    graph = writer.graph
    num_sources = graph.op("Shape", "source_ids", start=0, end=1)
    shape = graph.op("Concat", num_sources, graph.ints(writer.model.config.d_model // 2), axis=0)
    zero = graph.weight("state.zero", np.zeros(1, writer.precision.real))
    return graph.op("Expand", zero, shape)


def _cross(writer: GraphWriter, annotations: str) -> None:
    """Write the output [2, B, 1, S, d]: keys U_a h_j, and annotations h_j as values."""
    graph, values = writer.graph, annotations
    keys = writer.cached_linear(annotations, [KEY])
    if writer.precision.cache_dtype == "int8":
        zero = graph.integer(0, "int8")
        values = graph.op("QuantizeLinear", annotations, graph.scalar(ANNOTATION_STEP), zero)
    both = (graph.op("Unsqueeze", value, graph.ints(0, 2)) for value in (keys, values))
    (port,) = contract.encoder_outputs(writer.precision.cache_dtype)
    graph.op("Concat", *both, output=port.name, axis=0)


def _real(writer: GraphWriter) -> int:
    return ELEMENT_TYPES["float16" if writer.precision.real is np.float16 else "float32"]
