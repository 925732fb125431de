"""Reads the graphs of an fp16 bundle into instructions, as `dragoman.native.program` does for int8.

The graphs are the only truth: a bundle with an operator that is not known here runs on onnxruntime.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dragoman.bundle import Bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.native.instructions import (
    Embedding,
    Instruction,
    InstructionKind,
    Layers,
    Norm,
    NotSupported,
    Program,
    Weights,
)
from dragoman.native.onnx_file import Graph, Node, OnnxFileError, read_graph
from dragoman.native.program import OUTPUT, PREPARATIONS, GraphReader, read_encoder

PRECISION = "fp16"
MAX_VOCABULARY = 65536
"""Logits of a row that one block of threads keeps in its registers."""
MIN_HEAD_SIZE, MAX_WIDTH = 16, 1024
"""Tensor cores multiply 16 numbers at least; attention keeps all heads of a row in registers."""


@dataclass(frozen=True, slots=True)
class HalfLinear:
    """A linear layer: weight [K, N], bias [N]."""

    weight: Weights
    bias: Weights


@dataclass(frozen=True, slots=True)
class HalfOutput:
    """The output projection: a table [V, d] and a bias [V]; suppressed tokens have no probability."""

    table: Weights
    bias: Weights
    suppressed: tuple[int, ...]


@dataclass(slots=True)
class HalfPrograms:
    """A bundle's graphs, and the layers that instructions name by their number."""

    encoder: Program
    decoder: Program
    output: HalfOutput
    linears: list[HalfLinear]
    norms: list[Norm]


@dataclass(slots=True)
class _HalfLayers(Layers):
    halves: list[HalfLinear] = field(default_factory=list)


class _HalfReader(GraphReader):
    """Reads the nodes of one graph, whose products have no numbers to be rounded to."""

    preparations = PREPARATIONS | {"Concat", "Less", "Range"}

    def __init__(self, graph: Graph, layers: _HalfLayers, num_heads: int) -> None:
        super().__init__(graph, layers, num_heads)
        self._halves = layers.halves
        self._products: dict[str, Weights] = {}  # weights of products without their bias

    def readers(self) -> Mapping[str, Callable[[Node], None]]:
        """Return what reads a node, by its operator."""
        found = {
            "GroupQueryAttention": self._attend_to_past,
            "MatMul": self._multiply,
            "MultiHeadAttention": self._attend_to_source,
        }
        without = {"MatMulIntegerToFloat", "QuantizeLinear", "Split"}
        return {name: reader for name, reader in super().readers().items() if name not in without} | found

    def fusible(self) -> Sequence[Instruction]:
        """Return the instructions, with each activation in the linear layer before it."""
        return _join_activations(self.instructions)

    def _embed(self, node: Node) -> None:
        rows, gathered = (self.producers[name] for name in node.inputs)
        factor = np.ones(1)
        if rows.operator == "Mul":
            factor = self.weight(rows.inputs[1])
            rows = self.producers[rows.inputs[0]]
        if rows.operator != "Gather" or gathered.operator not in {"Gather", "Slice"}:
            raise NotSupported("token vectors without positions")
        table = self.weight(rows.inputs[0])
        self.embedding = Embedding(table, factor, self.weight(gathered.inputs[0]))
        self.append(Instruction(InstructionKind.EMBED), table.shape[1], node.outputs[0])

    def _multiply(self, node: Node) -> None:
        self._rename(node)
        self._products[node.outputs[0]] = self.weight(node.inputs[1])

    def _add(self, node: Node) -> None:
        value, other = node.inputs
        if value not in self._products:
            super()._add(node)
            return
        linear = HalfLinear(self._products.pop(value), self.weight(other))
        self._add_linear(self.vector(value), linear, node.outputs[0])

    def _add_linear(self, source: str, linear: HalfLinear, output: str) -> None:
        self._halves.append(linear)
        instruction = Instruction(InstructionKind.LINEAR, source, index=len(self._halves) - 1)
        self.append(instruction, linear.weight.shape[1], output)

    def _attend_to_past(self, node: Node) -> None:
        if not node.inputs[3].startswith("self_key.") or any(node.inputs[7:]):
            raise NotSupported("attention with biases")
        self._attend(node)

    def _attend_to_source(self, node: Node) -> None:
        """Read the decoder's attention to cross K/V, or the encoder's, whose three products become one."""
        if node.inputs[3] or any(node.inputs[5:]):
            raise NotSupported("attention with biases")
        if node.numbers.get("num_heads") != self._num_heads:
            raise NotSupported("attention with other numbers of heads than the manifest says")
        cache, _, layer = node.inputs[1].partition(".")
        if cache == "cross_key":
            source = self.vector(node.inputs[0])
            instruction = Instruction(InstructionKind.CROSS_ATTENTION, source, index=int(layer))
            self.append(instruction, self.widths[source], node.outputs[0])
            return
        parts, targets = self.instructions[-3:], [self.vector(name) for name in node.inputs[:3]]
        if [part.target for part in parts] != targets or len({part.source for part in parts}) != 1:
            raise NotSupported("queries, keys and values that are not three products of a vector")
        linears = [self._halves[part.index] for part in parts]
        del self.instructions[-3:], self._halves[-3:]
        weight, bias = ([getattr(one, name) for one in linears] for name in ("weight", "bias"))
        joined, inputs = (
            HalfLinear(np.concatenate(weight, 1), np.concatenate(bias)),
            f"{node.outputs[0]}.inputs",
        )
        self._add_linear(parts[0].source, joined, inputs)
        instruction = Instruction(InstructionKind.SELF_ATTENTION, inputs)
        self.append(instruction, self.widths[targets[0]], node.outputs[0])


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
    layers = _HalfLayers()
    try:
        readers = [
            _HalfReader(read_graph(bundle.file(name)), layers, sizes.heads)
            for name in (ENCODER_FILE, DECODER_FILE)
        ]
        encoder = read_encoder(readers[0])
        decoder, output = _read_decoder(readers[1])
        programs = HalfPrograms(encoder, decoder, output, layers.halves, layers.norms)
        _check_shapes(programs, width, sizes.target_vocab, sizes.decoder_layers)
    except OnnxFileError as error:
        raise NotSupported(str(error)) from error
    except (AttributeError, IndexError, KeyError, StopIteration, ValueError) as error:  # of graphs like ours
        raise NotSupported(f"its graphs have an unknown form: {error!r}") from error
    return programs


def _read_decoder(reader: _HalfReader) -> tuple[Program, HalfOutput]:
    """Read the decoder graph; the target of the last instruction is what the output projection multiplies."""
    complete = reader.read_all(*OUTPUT).branches["else_branch"]
    weights = reader.graph.weights | complete.weights
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
    return reader.finish((reader.instructions[-1].target,)), output


def _suppressed(nodes: Sequence[Node], weights: dict[str, Weights]) -> tuple[int, ...]:
    """Return tokens that get no probability after the softmax: weights `suppressed.FIRST` say which."""
    names = {name for node in nodes for name in node.inputs if name.startswith("suppressed.")}
    found = [
        int(name.partition(".")[2]) + np.flatnonzero(np.isneginf(weights[name])) for name in sorted(names)
    ]
    return tuple(np.concatenate(found).tolist()) if found else ()


def _join_activations(instructions: Sequence[Instruction]) -> list[Instruction]:
    """Make each activation part of the linear layer before it."""
    joined: list[Instruction] = []
    for each in instructions:
        if each.kind != InstructionKind.ACTIVATE:
            joined.append(each)
            continue
        last = joined.pop()
        if last.kind != InstructionKind.LINEAR or last.target != each.source or last.activation:
            raise NotSupported("an activation that follows no linear layer")
        joined.append(replace(last, activation=each.activation, alpha=each.alpha, target=each.target))
    return joined


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
