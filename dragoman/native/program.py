"""Turns the graphs of an int8 bundle into instructions for the kernels.

The graphs are the only truth: whatever operator the kernels do not know, the bundle runs on onnxruntime. A
graph is read node by node into instructions over named vectors, of which there is one for each row (a source
token in the encoder, a hypothesis in the decoder). Then neighbours are fused, and registers assigned.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dragoman.native.fusion import fuse
from dragoman.native.instructions import (
    Activation,
    Embedding,
    Instruction,
    InstructionKind,
    Layers,
    Linear,
    Norm,
    NotSupported,
    OutputLayer,
    Program,
    Weights,
)
from dragoman.native.onnx_file import Graph, Node

SIGNED_ZERO = 128
"""Zero of activations with both signs, as unsigned bytes."""
OUTPUT = ("If", "an output projection without shortlists")
"""Last operator of a decoder, and what is wrong with another one."""
BIAS_INPUT = 10
"""Input of `GroupQueryAttention` that is added to its scores."""
PREPARATIONS = frozenset(
    {
        "BitwiseXor",
        "Cast",
        "Gather",
        "Greater",
        "Mul",
        "Reshape",
        "Shape",
        "Slice",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
    }
)
"""Operators that prepare what instructions have built in: token vectors, lengths, layouts."""


class GraphReader:
    """Reads the nodes of one graph."""

    preparations = PREPARATIONS

    def __init__(self, graph: Graph, layers: Layers, num_heads: int) -> None:
        self.graph = graph
        self._layers = layers
        self._num_heads = num_heads
        self.producers = {output: node for node in graph.nodes for output in node.outputs}
        self._names: dict[str, str] = {}  # the vector that a value is, by the value's name
        self._cells: dict[str, str] = {}  # inputs of SSRU cells, by the values made of them
        self.instructions: list[Instruction] = []
        self.widths: dict[str, int] = {}
        self.embedding: Embedding | None = None

    def vector(self, value: str) -> str:
        """Return the name of the vector that a value is."""
        if value not in self._names:
            raise NotSupported(f"value {value} is not a vector for each row")
        return self._names[value]

    def weight(self, name: str) -> Weights:
        """Return a weight of the graph."""
        if name not in self.graph.weights:
            raise NotSupported(f"{name} is not a weight")
        return self.graph.weights[name]

    def table(self, value: str) -> tuple[str, Weights]:
        """Return name and content of the table whose unsigned form a value is."""
        unsigned = self.producers[value]
        name = self.producers[unsigned.inputs[0]].inputs[0]
        return name, self.weight(name)

    def read(self, node: Node) -> None:
        """Add the node's instruction, if it needs one.

        Raises:
            NotSupported: the kernels do not have the operator.
        """
        known = [name for name in node.inputs if name in self._names or name in self._cells]
        if not known:
            if node.operator == "Add" and self.embedding is None:
                self._embed(node)
            elif node.operator not in self.preparations:
                raise NotSupported(f"operator {node.operator} on what is no vector")
            return
        if any(name in self._cells for name in node.inputs):
            self._read_cell(node)
            return
        reader = self.readers().get(node.operator)
        if reader is None:
            raise NotSupported(f"operator {node.operator}")
        reader(node)

    def readers(self) -> Mapping[str, Callable[[Node], None]]:
        """Return what reads a node, by its operator."""
        return {
            "Add": self._add,
            "Gelu": self._activate,
            "GroupQueryAttention": self._attend,
            "LayerNormalization": self._norm,
            "MatMulIntegerToFloat": self._multiply,
            "Mul": self._gate,
            "QuantizeLinear": self._quantise,
            "QuickGelu": self._activate,
            "Relu": self._activate,
            "Reshape": self._rename,
            "Transpose": self._rename,
            "Sigmoid": self._remember_gate,
            "Split": self._begin_cell,
            "Shape": _ignore,
            "Slice": _ignore,
        }

    def append(self, instruction: Instruction, width: int, output: str) -> None:
        """Add an instruction whose target is the vector of a value."""
        self.instructions.append(replace(instruction, target=output))
        self._names[output] = output
        self.widths[output] = width

    def read_all(self, last_operator: str, problem: str) -> Node:
        """Read all nodes but the last one; return that.

        Raises:
            NotSupported: the last one has another operator, or the kernels do not have one.
        """
        *body, last = self.graph.nodes
        if last.operator != last_operator:
            raise NotSupported(problem)
        for node in body:
            if node.outputs != ("has_many_rows",):
                self.read(node)
        return last

    def fusible(self) -> Sequence[Instruction]:
        """Return the instructions that are fused."""
        return self.instructions

    def finish(self, results: Sequence[str]) -> Program:
        """Return the program that ends with these vectors."""
        if self.embedding is None:
            raise NotSupported("no embedding")
        return Program(self.embedding, fuse(self.fusible(), results), self.widths)

    def _embed(self, node: Node) -> None:
        tables = [each for each in self.graph.nodes if each.operator == "Gather"]
        unsigned = next(each.inputs[0] for each in tables if each.inputs[0] in self.producers)
        name, table = self.table(unsigned)
        steps = self.weight(f"{name}.steps").reshape(-1)
        self.embedding = Embedding(table, steps, self.weight("positions"))
        self.append(Instruction(InstructionKind.EMBED), table.shape[1], node.outputs[0])

    def _norm(self, node: Node) -> None:
        source, gain, bias = self.vector(node.inputs[0]), *map(self.weight, node.inputs[1:])
        self._layers.norms.append(Norm(gain, bias, node.numbers["epsilon"]))
        instruction = Instruction(InstructionKind.NORM, source, index=len(self._layers.norms) - 1)
        self.append(instruction, self.widths[source], node.outputs[0])

    def _quantise(self, node: Node) -> None:
        source, zero = self.vector(node.inputs[0]), self.weight(node.inputs[2])
        step = float(self.weight(node.inputs[1]).reshape(-1)[0])
        if zero.dtype == np.int8:  # K/V, which the instructions that write caches round
            if step != 1.0:
                raise NotSupported(f"K/V in steps of {step}")
            self._rename(node)
            return
        instruction = Instruction(InstructionKind.QUANTISE, source, zero=int(zero.reshape(-1)[0]), step=step)
        self.append(instruction, self.widths[source], node.outputs[0])

    def _multiply(self, node: Node) -> None:
        value, weight, step, scales, zero, weight_zero, bias = node.inputs
        if weight_zero:
            raise NotSupported("weights around another number than zero")
        linear = Linear(
            self.weight(weight),
            self.weight(scales).reshape(-1),
            self.weight(bias),
            float(self.weight(step).reshape(-1)[0]),
            int(self.weight(zero).reshape(-1)[0]),
        )
        self._layers.linears.append(linear)
        instruction = Instruction(
            InstructionKind.LINEAR, self.vector(value), index=len(self._layers.linears) - 1
        )
        self.append(instruction, linear.weight.shape[1], node.outputs[0])

    def _activate(self, node: Node) -> None:
        source = self.vector(node.inputs[0])
        activation = {
            "Relu": Activation.RELU,
            "Gelu": Activation.GELU_TANH if node.texts.get("approximate") == "tanh" else Activation.GELU,
            "QuickGelu": Activation.QUICK_GELU,
        }[node.operator]
        alpha = node.numbers.get("alpha", 1.0)
        instruction = Instruction(InstructionKind.ACTIVATE, source, activation=activation, alpha=alpha)
        self.append(instruction, self.widths[source], node.outputs[0])

    def _remember_gate(self, node: Node) -> None:
        self._names[node.outputs[0]] = f"sigmoid({self.vector(node.inputs[0])})"

    def _gate(self, node: Node) -> None:
        source, gate = map(self.vector, node.inputs)
        if gate != f"sigmoid({source})":
            raise NotSupported("a product of two vectors")
        instruction = Instruction(InstructionKind.ACTIVATE, source, activation=Activation.SWISH)
        self.append(instruction, self.widths[source], node.outputs[0])

    def _add(self, node: Node) -> None:
        source, other = map(self.vector, node.inputs)
        self.append(
            Instruction(InstructionKind.ADD, source, other=other), self.widths[source], node.outputs[0]
        )

    def _attend(self, node: Node) -> None:
        source = self.vector(node.inputs[0])
        if {node.numbers.get("num_heads"), node.numbers.get("kv_num_heads")} != {self._num_heads}:
            raise NotSupported("attention with other numbers of heads than the manifest says")
        cache, _, layer = node.inputs[3].partition(".")
        kind = InstructionKind.CROSS_ATTENTION if cache == "cross_key" else InstructionKind.SELF_ATTENTION
        width = self.widths[source] // (1 if kind == InstructionKind.CROSS_ATTENTION else 3)
        instruction = Instruction(kind, source, index=int(layer or 0))
        self.append(instruction, width, node.outputs[0])

    def _rename(self, node: Node) -> None:
        self._names[node.outputs[0]] = self.vector(node.inputs[0])

    def _begin_cell(self, node: Node) -> None:
        joined = self.vector(node.inputs[0])
        self._cells.update(dict.fromkeys(node.outputs, joined))

    def _read_cell(self, node: Node) -> None:
        """Follow the operators of an SSRU cell to its output."""
        joined = next(self._cells[name] for name in node.inputs if name in self._cells)
        if node.operator not in {"Add", "Mul", "Relu", "Sigmoid", "Sub"}:
            raise NotSupported(f"operator {node.operator} in a cell")
        if node.operator == "Relu":
            layer = int(node.inputs[0].rpartition(".")[2])
            width = self.widths[joined] // 2
            self.append(Instruction(InstructionKind.RECUR, joined, index=layer), width, node.outputs[0])
        else:
            self._cells[node.outputs[0]] = joined


def _ignore(node: Node) -> None:
    """Skip a node that an instruction has built in."""
    del node


def check_attention(graphs: Iterable[Graph]) -> None:
    """Check that no attention adds biases to its scores.

    Raises:
        NotSupported: one does.
    """
    for node in (node for graph in graphs for node in graph.nodes):
        if node.operator == "GroupQueryAttention" and any(node.inputs[BIAS_INPUT : BIAS_INPUT + 1]):
            raise NotSupported("its attention has relative positions, which the kernels do not have")


def read_encoder(reader: GraphReader) -> Program:
    """Read the encoder graph; its last instructions write the cross K/V of each layer.

    Raises:
        NotSupported: the kernels do not have an operator.
    """
    joined = reader.read_all("Concat", "cross K/V that are not joined")
    for layer, value in enumerate(joined.inputs):
        reader.instructions.append(
            Instruction(InstructionKind.WRITE_CROSS, reader.vector(value), index=layer)
        )
    return reader.finish(())


def read_decoder(reader: GraphReader) -> tuple[Program, OutputLayer]:
    """Read the decoder graph; the target of the last instruction is what the output projection multiplies.

    Raises:
        NotSupported: the kernels do not have an operator.
    """
    head = reader.read_all(*OUTPUT)
    output, quantised = _read_head(reader, head.branches["then_branch"])
    return reader.finish((quantised,)), output


def _read_head(reader: GraphReader, listed: Graph) -> tuple[OutputLayer, str]:
    """Read the projection from its branch for shortlists, where each weight is used once."""
    rounding = next(node for node in listed.nodes if node.operator == "QuantizeLinear")
    step = float(reader.weight(rounding.inputs[1]).reshape(-1)[0])
    choice = next(node for node in listed.nodes if node.operator == "If")
    gathered = choice.branches["else_branch"].nodes[0]
    _, table = reader.table(gathered.inputs[0])
    source, target = reader.vector(rounding.inputs[0]), "quantised states"
    instruction = Instruction(InstructionKind.QUANTISE, source, zero=SIGNED_ZERO, step=step)
    reader.append(instruction, reader.widths[source], target)
    suppressed: tuple[int, ...] = ()
    if any("suppressed" in node.inputs for node in listed.nodes):
        suppressed = tuple(np.flatnonzero(np.isneginf(reader.weight("suppressed"))).tolist())
    scales, bias = reader.weight("output.steps"), reader.weight("output.bias")
    return OutputLayer(table, scales, bias, SIGNED_ZERO, suppressed), target
