"""Reads the graphs of an fp16 bundle into instructions, as `dragoman.native.program` does for int8.

The graphs are the only truth: a bundle with an operator that is not known here runs on onnxruntime.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dragoman.bundle import Bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.native.fusion import fuse
from dragoman.native.instructions import (
    Activation,
    Instruction,
    InstructionKind,
    Norm,
    NotSupported,
    Weights,
)
from dragoman.native.onnx_file import Graph, Node, OnnxFileError, read_graph

PRECISION = "fp16"
MAX_VOCABULARY = 65536
"""Logits of a row that one block of threads keeps in its registers."""
MIN_HEAD_SIZE, MAX_WIDTH = 16, 1024
"""Tensor cores multiply 16 numbers at least; attention keeps all heads of a row in registers."""
PREPARATIONS = frozenset(
    {
        *("Cast", "Concat", "Gather", "Greater", "Less", "Mul"),
        *("Range", "Reshape", "Shape", "Slice", "Squeeze", "Unsqueeze"),
    }
)
"""Operators that prepare what instructions have built in: token vectors, masks, layouts."""


@dataclass(frozen=True, slots=True)
class HalfLinear:
    """A linear layer: weight [K, N], bias [N]."""

    weight: Weights
    bias: Weights


@dataclass(frozen=True, slots=True)
class HalfEmbedding:
    """A table [V, d], its factor, and positions [T, d]."""

    table: Weights
    factor: float
    positions: Weights


@dataclass(frozen=True, slots=True)
class HalfOutput:
    """The output projection: a table [V, d] and a bias [V]; suppressed tokens have no probability."""

    table: Weights
    bias: Weights
    suppressed: tuple[int, ...]


@dataclass(slots=True)
class HalfProgram:
    """Instructions of one graph, the widths of its vectors, and its embedding."""

    embedding: HalfEmbedding
    instructions: list[Instruction]
    widths: dict[str, int]


@dataclass(slots=True)
class HalfPrograms:
    """A bundle's graphs, and the layers that instructions name by their number."""

    encoder: HalfProgram
    decoder: HalfProgram
    output: HalfOutput
    linears: list[HalfLinear]
    norms: list[Norm]


@dataclass(slots=True)
class _Layers:
    linears: list[HalfLinear] = field(default_factory=list)
    norms: list[Norm] = field(default_factory=list)


class _HalfReader:
    """Reads the nodes of one graph."""

    def __init__(self, graph: Graph, layers: _Layers, num_heads: int) -> None:
        self._graph, self._layers, self._num_heads = graph, layers, num_heads
        self._producers = {output: node for node in graph.nodes for output in node.outputs}
        self._names: dict[str, str] = {}  # the vector that a value is, by the value's name
        self._products: dict[str, tuple[str, Weights]] = {}  # products without their bias: vector and weight
        self.instructions: list[Instruction] = []
        self.widths: dict[str, int] = {}
        self.embedding: HalfEmbedding | None = None

    def vector(self, value: str) -> str:
        """Return the name of the vector that a value is."""
        if value not in self._names:
            raise NotSupported(f"value {value} is not a vector for each row")
        return self._names[value]

    def weight(self, name: str) -> Weights:
        """Return a weight of the graph."""
        if name not in self._graph.weights:
            raise NotSupported(f"{name} is not a weight")
        return self._graph.weights[name]

    def read(self, node: Node) -> None:
        """Add the node's instruction, if it needs one.

        Raises:
            NotSupported: there is none for the operator.
        """
        if not any(name in self._names or name in self._products for name in node.inputs):
            if node.operator == "Add" and self.embedding is None:
                self._embed(node)
            elif node.operator not in PREPARATIONS:
                raise NotSupported(f"operator {node.operator} on what is no vector")
            return
        reader = {
            "Add": self._add,
            "Gelu": self._activate,
            "GroupQueryAttention": self._attend_to_past,
            "LayerNormalization": self._norm,
            "MatMul": self._multiply,
            "Mul": self._gate,
            "MultiHeadAttention": self._attend,
            "QuickGelu": self._activate,
            "Relu": self._activate,
            "Reshape": self._rename,
            "Sigmoid": self._remember_gate,
            "Transpose": self._rename,
        }.get(node.operator)
        if reader is not None:
            reader(node)
        elif node.operator != "Shape":
            raise NotSupported(f"operator {node.operator}")

    def append(self, instruction: Instruction, width: int, output: str) -> None:
        """Add an instruction whose target is the vector of a value."""
        self.instructions.append(replace(instruction, target=output))
        self._names[output] = output
        self.widths[output] = width

    def _embed(self, node: Node) -> None:
        rows, places = (self._producers[name] for name in node.inputs)
        factor = 1.0
        if rows.operator == "Mul":
            factor = float(self.weight(rows.inputs[1]).reshape(-1)[0])
            rows = self._producers[rows.inputs[0]]
        if rows.operator != "Gather" or places.operator not in {"Gather", "Slice"}:
            raise NotSupported("token vectors without positions")
        table, positions = self.weight(rows.inputs[0]), self.weight(places.inputs[0])
        self.embedding = HalfEmbedding(table, factor, positions)
        self.append(Instruction(InstructionKind.EMBED), table.shape[1], node.outputs[0])

    def _norm(self, node: Node) -> None:
        source, gain, bias = self.vector(node.inputs[0]), *map(self.weight, node.inputs[1:])
        self._layers.norms.append(Norm(gain, bias, node.numbers["epsilon"]))
        instruction = Instruction(InstructionKind.NORM, source, index=len(self._layers.norms) - 1)
        self.append(instruction, self.widths[source], node.outputs[0])

    def _multiply(self, node: Node) -> None:
        self._products[node.outputs[0]] = (self.vector(node.inputs[0]), self.weight(node.inputs[1]))

    def _add(self, node: Node) -> None:
        value, other = node.inputs
        if value in self._products:
            source, weight = self._products.pop(value)
            self._add_linear(source, HalfLinear(weight, self.weight(other)), node.outputs[0])
            return
        left, right = self.vector(value), self.vector(other)
        self.append(Instruction(InstructionKind.ADD, left, other=right), self.widths[left], node.outputs[0])

    def _add_linear(self, source: str, linear: HalfLinear, output: str) -> None:
        self._layers.linears.append(linear)
        instruction = Instruction(InstructionKind.LINEAR, source, index=len(self._layers.linears) - 1)
        self.append(instruction, linear.weight.shape[1], output)

    def _activate(self, node: Node) -> None:
        activation = {
            "Relu": Activation.RELU,
            "Gelu": Activation.GELU_TANH if node.texts.get("approximate") == "tanh" else Activation.GELU,
            "QuickGelu": Activation.QUICK_GELU,
        }[node.operator]
        self._join_activation(self.vector(node.inputs[0]), activation, node)

    def _join_activation(self, source: str, activation: Activation, node: Node) -> None:
        """Make an activation part of the linear layer before it."""
        last = self.instructions[-1]
        if last.kind != InstructionKind.LINEAR or last.target != source:
            raise NotSupported("an activation that follows no linear layer")
        self.instructions.pop()
        alpha = node.numbers.get("alpha", 1.0)
        self.append(replace(last, activation=activation, alpha=alpha), self.widths[source], node.outputs[0])

    def _remember_gate(self, node: Node) -> None:
        self._names[node.outputs[0]] = f"sigmoid({self.vector(node.inputs[0])})"

    def _gate(self, node: Node) -> None:
        source, gate = map(self.vector, node.inputs)
        if gate != f"sigmoid({source})":
            raise NotSupported("a product of two vectors")
        self._join_activation(source, Activation.SWISH, node)

    def _attend_to_past(self, node: Node) -> None:
        self._check_heads({node.numbers.get("num_heads"), node.numbers.get("kv_num_heads")})
        cache, _, layer = node.inputs[3].partition(".")
        if cache != "self_key" or any(node.inputs[7:]):
            raise NotSupported("attention with biases")
        source = self.vector(node.inputs[0])
        instruction = Instruction(InstructionKind.SELF_ATTENTION, source, index=int(layer))
        self.append(instruction, self.widths[source] // 3, node.outputs[0])

    def _attend(self, node: Node) -> None:
        self._check_heads({node.numbers.get("num_heads")})
        if node.inputs[3] or any(node.inputs[5:]):
            raise NotSupported("attention with biases")
        queries, keys = node.inputs[:2]
        cache, _, layer = keys.partition(".")
        if cache == "cross_key":
            source = self.vector(queries)
            instruction = Instruction(InstructionKind.CROSS_ATTENTION, source, index=int(layer))
            self.append(instruction, self.widths[source], node.outputs[0])
            return
        self._join_queries_keys_values(node)

    def _join_queries_keys_values(self, node: Node) -> None:
        """Make one product of the encoder's three before an attention."""
        parts = self.instructions[-3:]
        is_plain = all(part.kind == InstructionKind.LINEAR and not part.activation for part in parts)
        targets = [self.vector(name) for name in node.inputs[:3]]
        if not is_plain or [part.target for part in parts] != targets or len({p.source for p in parts}) != 1:
            raise NotSupported("queries, keys and values that are not three products of a vector")
        linears = [self._layers.linears[part.index] for part in parts]
        del self.instructions[-3:], self._layers.linears[-3:]
        joined = HalfLinear(
            np.concatenate([one.weight for one in linears], 1), np.concatenate([one.bias for one in linears])
        )
        self._add_linear(parts[0].source, joined, f"{node.outputs[0]}.inputs")
        width = self.widths[targets[0]]
        instruction = Instruction(InstructionKind.SELF_ATTENTION, f"{node.outputs[0]}.inputs")
        self.append(instruction, width, node.outputs[0])

    def _check_heads(self, found: set[float | None]) -> None:
        if found != {self._num_heads}:
            raise NotSupported("attention with other numbers of heads than the manifest says")

    def _rename(self, node: Node) -> None:
        self._names[node.outputs[0]] = self.vector(node.inputs[0])


def read_programs(bundle: Bundle) -> HalfPrograms:
    """Read a bundle's graphs; copy no weights.

    Raises:
        NotSupported: there are no kernels for the bundle.
    """
    manifest, sizes = bundle.manifest, bundle.manifest.sizes
    if manifest.precision != PRECISION:
        raise NotSupported(f"its precision is {manifest.precision}, and CUDA kernels are for {PRECISION}")
    if manifest.autoregression != "attention":
        raise NotSupported("it is a recurrent model, and CUDA kernels are for Transformers")
    width = sizes.heads * sizes.head_size
    if (
        sizes.head_size < MIN_HEAD_SIZE
        or width > MAX_WIDTH
        or width & (width - 1)
        or sizes.heads & (sizes.heads - 1)
    ):
        raise NotSupported(f"CUDA kernels are not for {sizes.heads} heads of {sizes.head_size}")
    if sizes.target_vocab > MAX_VOCABULARY:
        raise NotSupported(f"CUDA kernels are for at most {MAX_VOCABULARY} tokens")
    layers = _Layers()
    try:
        encoder = _read_encoder(read_graph(bundle.file(ENCODER_FILE)), layers, sizes.heads)
        decoder, output = _read_decoder(read_graph(bundle.file(DECODER_FILE)), layers, sizes.heads)
        programs = HalfPrograms(encoder, decoder, output, layers.linears, layers.norms)
        _check_shapes(programs, width, sizes.target_vocab, sizes.decoder_layers)
    except OnnxFileError as error:
        raise NotSupported(str(error)) from error
    except (AttributeError, IndexError, KeyError, StopIteration, ValueError) as error:  # of graphs like ours
        raise NotSupported(f"its graphs have an unknown form: {error!r}") from error
    return programs


def _read_encoder(graph: Graph, layers: _Layers, num_heads: int) -> HalfProgram:
    reader = _HalfReader(graph, layers, num_heads)
    *body, joined = graph.nodes
    if joined.operator != "Concat":
        raise NotSupported("cross K/V that are not joined")
    for node in body:
        reader.read(node)
    for layer, value in enumerate(joined.inputs):
        reader.instructions.append(
            Instruction(InstructionKind.WRITE_CROSS, reader.vector(value), index=layer)
        )
    return _finished(reader, ())


def _read_decoder(graph: Graph, layers: _Layers, num_heads: int) -> tuple[HalfProgram, HalfOutput]:
    """Read the decoder graph; the target of the last instruction is what the output projection multiplies."""
    reader = _HalfReader(graph, layers, num_heads)
    *body, head = graph.nodes
    if head.operator != "If":
        raise NotSupported("an output projection without shortlists")
    for node in body:
        reader.read(node)
    complete = head.branches["else_branch"]
    weights = graph.weights | complete.weights
    slices = {node.outputs[0]: node for node in complete.nodes if node.operator == "Slice"}
    products = [node for node in complete.nodes if node.operator == "Gemm"]
    tables, biases = [], []
    for node in products:
        states, rows, bias = node.inputs
        if reader.vector(states) != reader.instructions[-1].target or node.numbers.get("transB") != 1:
            raise NotSupported("an output projection of another form")
        if rows in slices:
            table, first, last = (weights[name] for name in slices[rows].inputs[:3])
            tables.append(table[int(first[0]) : int(last[0])])
        else:
            tables.append(weights[rows])
        biases.append(weights[bias])
    table = tables[0] if len(tables) == 1 else np.concatenate(tables)
    output = HalfOutput(table, np.concatenate(biases), _suppressed(complete.nodes, weights))
    return _finished(reader, (reader.instructions[-1].target,)), output


def _suppressed(nodes: Sequence[Node], weights: dict[str, Weights]) -> tuple[int, ...]:
    """Return tokens that get no probability after the softmax: weights `suppressed.FIRST` say which."""
    names = {name for node in nodes for name in node.inputs if name.startswith("suppressed.")}
    found = [
        int(name.partition(".")[2]) + np.flatnonzero(np.isneginf(weights[name])) for name in sorted(names)
    ]
    return tuple(np.concatenate(found).tolist()) if found else ()


def _finished(reader: _HalfReader, results: Sequence[str]) -> HalfProgram:
    if reader.embedding is None:
        raise NotSupported("no embedding")
    return HalfProgram(reader.embedding, fuse(reader.instructions, results), reader.widths)


def _check_shapes(programs: HalfPrograms, width: int, vocab_size: int, num_layers: int) -> None:
    """Check what kernels take for granted."""
    for program in (programs.encoder, programs.decoder):
        for each in program.instructions:
            found = program.widths.get(each.source, width), program.widths.get(each.target, width)
            wide = {InstructionKind.SELF_ATTENTION: 3 * width, InstructionKind.WRITE_CROSS: 2 * width}
            expected = (wide.get(each.kind, width), width)
            if each.kind in {InstructionKind.LINEAR, InstructionKind.LINEAR_ADD}:
                expected = programs.linears[each.index].weight.shape
                _require(programs.linears[each.index].bias.shape == expected[1:], "bias")
            _require(found == expected, each.kind.name)
        _require(program.embedding.positions.shape[1:] == (width,), "positions")
        layers = [each.index for each in program.instructions if each.kind == InstructionKind.CROSS_ATTENTION]
        _require(
            layers == (list(range(num_layers)) if program is programs.decoder else []), "cross-attention"
        )
    _require(programs.output.table.shape == (vocab_size, width), "output projection")
    _require(programs.output.bias.shape == (vocab_size,), "bias of the output")


def _require(fits: bool, what: str) -> None:  # noqa: FBT001 -- a condition
    if not fits:
        raise NotSupported(f"its graphs have an unknown form: {what}")
