"""SSRU in the decoder graph: each row's target so far is one vector per layer.

Shapes: R rows, d model width.
"""

import numpy as np
from onnx import TensorProto

from dragoman import contract
from export.graph.blocks import GraphWriter


def self_recurrence(writer: GraphWriter, inputs: str, layer: int) -> str:
    """Write one step of an SSRU (Kim et al. 2019, section 3.1): [R, 1, d] -> [R, 1, d].

    The cell is float32 in every precision. It is read only once, before it is written, so that input and
    output may be the same memory.
    """
    graph, width = writer.graph, writer.model.config.d_model
    name = f"decoder.{layer}.self_recurrence"
    joined = writer.joined_linear(inputs, (f"{name}.cell", f"{name}.forget"))
    projected = _cast(writer, graph.reshape(joined, -1, 2 * width), TensorProto.FLOAT)
    new, forget = f"{name}.new", f"{name}.forget"
    graph.node("Split", (projected,), (new, forget), attributes={"axis": -1, "num_outputs": 2})
    # n + f (c - n) is f c + (1 - f) n with one operator less
    change = graph.op("Sub", contract.cell(layer), new)
    kept = graph.op("Mul", graph.op("Sigmoid", forget), change)
    cell = graph.op("Add", new, kept, output=contract.NEW_PREFIX + contract.cell(layer))
    outputs = _cast(writer, graph.op("Relu", cell), _real(writer))
    return graph.reshape(outputs, -1, 1, width)


def _cast(writer: GraphWriter, value: str, element_type: int) -> str:
    """Write a cast, or nothing if everything is float32."""
    if _real(writer) == TensorProto.FLOAT:
        return value
    return writer.graph.op("Cast", value, attributes={"to": element_type})


def _real(writer: GraphWriter) -> int:
    """Return the element type that flows between the operators."""
    return TensorProto.FLOAT16 if writer.precision.real is np.float16 else TensorProto.FLOAT
