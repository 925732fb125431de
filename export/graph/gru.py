"""GRU in the encoder and decoder graphs of a recurrent model; `export.model.gru` has the equations."""

from collections.abc import Sequence

from onnx import TensorProto

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
