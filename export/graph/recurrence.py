"""Recurrence in graphs: GRU, and SSRU, in which each row's target so far is one vector per layer.

Shapes: R rows, d model width.
"""

from collections.abc import Sequence

from onnx import TensorProto

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.builder import GraphBuilder

ANNOTATION_STEP = 1 / 127
"""Quantisation step of annotations: as states of a GRU they are between -1 and 1."""


def gru_step(
    graph: GraphBuilder, gates: tuple[str, str], from_state: tuple[str, str], state: str, size: int
) -> str:
    """Write one step of a GRU of n numbers, and return the next state, [..., n].

    Args:
        graph: graph of the step.
        gates: products of the inputs: for r and z [..., 2n], and for n [..., n].
        from_state: products of the state, likewise.
        state: [..., n].
        size: n.
    """
    opened = graph.op("Sigmoid", graph.op("Add", gates[0], from_state[0]))
    reset, keep = split_last(graph, opened, (size, size))
    new = graph.op("Tanh", graph.op("Add", gates[1], graph.op("Mul", reset, from_state[1])))
    # n + z (h - n) is (1 - z) n + z h with one operator less
    return graph.op("Add", new, graph.op("Mul", keep, graph.op("Sub", state, new)))


def split_last(graph: GraphBuilder, value: str, sizes: Sequence[int]) -> list[str]:
    """Split a value's last axis into pieces of these sizes."""
    outputs = [f"{value}.part{index}" for index in range(len(sizes))]
    graph.node("Split", (value, graph.ints(*sizes)), outputs, axis=-1)
    return outputs


def cast(writer: GraphWriter, value: str, *, to_float32: bool) -> str:
    """Write a cast to float32, or to the type that flows between operators; nothing if that is float32."""
    if writer.precision.cache_dtype != "float16":
        return value
    element_type = TensorProto.FLOAT if to_float32 else TensorProto.FLOAT16
    return writer.graph.op("Cast", value, to=element_type)


def self_recurrence(writer: GraphWriter, inputs: str, layer: int) -> str:
    """Write one step of an SSRU (Kim et al. 2019, section 3.1): [R, 1, d] -> [R, 1, d].

    The cell is float32 in every precision. It is read only once, before it is written, so that input and
    output may be the same memory.
    """
    graph, width = writer.graph, writer.model.config.d_model
    name = f"decoder.{layer}.self_recurrence"
    joined = writer.joined_linear(inputs, (f"{name}.cell", f"{name}.forget"))
    projected = cast(writer, graph.reshape(joined, -1, 2 * width), to_float32=True)
    new, forget = f"{name}.new", f"{name}.forget"
    graph.node("Split", (projected,), (new, forget), axis=-1, num_outputs=2)
    # n + f (c - n) is f c + (1 - f) n with one operator less
    change = graph.op("Sub", contract.cell(layer), new)
    kept = graph.op("Mul", graph.op("Sigmoid", forget), change)
    cell = graph.op("Add", new, kept, output=contract.NEW_PREFIX + contract.cell(layer))
    outputs = cast(writer, graph.op("Relu", cell), to_float32=False)
    return graph.reshape(outputs, -1, 1, width)
