"""Checks that the shapes of a bundle's programs fit together: the library trusts them."""

from dragoman.manifest import Manifest
from dragoman.native.instructions import (
    Embedding,
    Instruction,
    InstructionKind,
    Layers,
    Norm,
    NotSupported,
    OutputLayer,
    Program,
)
from dragoman.native.registers import WRITES_BYTES

READS_BYTES = frozenset({InstructionKind.LINEAR, InstructionKind.LINEAR_ADD, InstructionKind.LINEAR_QUANTISE})
WIDE_SOURCES = {InstructionKind.SELF_ATTENTION: 3, InstructionKind.RECUR: 2, InstructionKind.WRITE_CROSS: 2}
"""Widths of sources that are joined vectors, in units of the model's."""
OF_DECODER = frozenset({InstructionKind.CROSS_ATTENTION, InstructionKind.RECUR})


def check_shapes(
    manifest: Manifest, layers: Layers, encoder: Program, decoder: Program, output: OutputLayer
) -> None:
    """Check weights and instructions.

    Raises:
        NotSupported: naming what does not fit.
    """
    sizes = manifest.sizes
    width = sizes.heads * sizes.head_size
    _require(sizes.model_width == width, "width")
    _require(manifest.cache_dtype == "int8", "dtype of K/V")
    _check_layers(layers, width)
    for program in (encoder, decoder):
        _check_embedding(program.embedding, width)
        checker = _ProgramChecker(layers, program, width)
        for instruction in program.instructions:
            checker.check(instruction)
    _check_output(output, sizes.target_vocab, width)
    states = decoder.instructions[-1]
    _require(states.kind in WRITES_BYTES and decoder.widths[states.target] == width, "last states")
    cross, cells = _indexes(encoder, InstructionKind.WRITE_CROSS), _indexes(decoder, InstructionKind.RECUR)
    caches, read = (
        _indexes(decoder, InstructionKind.SELF_ATTENTION),
        _indexes(decoder, InstructionKind.CROSS_ATTENTION),
    )
    numbers = list(range(sizes.decoder_layers))
    recurrent = cells if manifest.autoregression == "ssru" else caches
    _require(recurrent == numbers and len(caches) + len(cells) == len(numbers), "layers of the decoder")
    _require(cross == numbers and read == numbers, "cross K/V")
    _require(not any(each.kind in OF_DECODER for each in encoder.instructions), "operators of the encoder")
    _require(not _indexes(decoder, InstructionKind.WRITE_CROSS), "operators of the decoder")
    _require(set(manifest.alignment.heads) <= set(range(sizes.heads)), "heads of the alignment")


class _ProgramChecker:
    """Checks instructions in their order."""

    def __init__(self, layers: Layers, program: Program, width: int) -> None:
        self._layers = layers
        self._widths = program.widths
        self._width = width
        self._bytes: dict[str, bool] = {}  # whether a vector is of bytes

    def check(self, instruction: Instruction) -> None:
        kind, index = instruction.kind, instruction.index
        if kind is not InstructionKind.EMBED:
            self._read(instruction.source, is_bytes=kind in READS_BYTES)
        if instruction.other:
            self._read(instruction.other, is_bytes=False)
        source, target = self._widths.get(instruction.source), self._widths.get(instruction.target)
        if kind in READS_BYTES:
            wanted = self._layers.linears[index].weight.shape
            _require((source, target) == wanted, f"layer {index}")
            _require(not instruction.other or self._widths[instruction.other] == target, f"sum {index}")
        elif kind in {InstructionKind.QUANTISE, InstructionKind.ACTIVATE}:
            _require(source == target, instruction.source)
        elif kind is InstructionKind.WRITE_CROSS:
            _require(source == 2 * self._width, instruction.source)
        else:
            wide = self._width * WIDE_SOURCES.get(kind, 1)
            _require(target == self._width and source in {None, wide}, f"vector {instruction.target}")
        if kind is InstructionKind.ADD:
            _require(self._widths[instruction.other] == self._width, f"vector {instruction.other}")
        if instruction.target:
            self._bytes[instruction.target] = kind in WRITES_BYTES

    def _read(self, name: str, *, is_bytes: bool) -> None:
        _require(self._bytes.get(name) is is_bytes, f"vector {name}")


def _check_layers(layers: Layers, width: int) -> None:
    for index, linear in enumerate(layers.linears):
        inputs, outputs = linear.weight.shape if linear.weight.ndim == 2 else (0, 0)  # noqa: PLR2004
        has_scales = linear.scales.shape in {(1,), (outputs,)}
        is_filled = inputs > 0 and outputs > 0
        _require(is_filled and has_scales and linear.bias.shape == (outputs,), f"layer {index}")
    for index, norm in enumerate(layers.norms):
        _require(_shapes(norm) == {(width,)}, f"norm {index}")


def _check_embedding(embedding: Embedding, width: int) -> None:
    num_tokens = len(embedding.table)
    _require(embedding.table.shape == (num_tokens, width) and num_tokens > 0, "embedding")
    _require(embedding.steps.shape == (num_tokens,), "steps of the embedding")
    _require(embedding.positions.shape == (len(embedding.positions), width), "positions")


def _check_output(output: OutputLayer, vocab_size: int, width: int) -> None:
    _require(output.table.shape == (vocab_size, width), "output projection")
    _require({output.scales.shape, output.bias.shape} == {(vocab_size,)}, "constants of tokens")
    _require(max(output.suppressed, default=0) < vocab_size, "suppressed tokens")


def _shapes(norm: Norm) -> set[tuple[int, ...]]:
    return {norm.gain.shape, norm.bias.shape}


def _indexes(program: Program, kind: InstructionKind) -> list[int]:
    return [each.index for each in program.instructions if each.kind is kind]


def _require(fits: bool, what: str) -> None:  # noqa: FBT001 -- a condition
    if not fits:
        raise NotSupported(f"its graphs have an unknown form: {what}")
