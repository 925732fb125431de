"""SSRU in the decoder graph: each row's target so far is one vector per layer.

Shapes: R rows, d model width.
"""

from dragoman import contract
from export.graph.blocks import GraphWriter
from export.graph.gru import cast


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
