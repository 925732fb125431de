"""A bundle's programs and weights, loaded into the kernels' library."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from ctypes import CDLL, Array, c_char, c_int64, c_void_p
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.manifest import Manifest
from dragoman.native.instructions import Embedding, Instruction, Layers, NotSupported, OutputLayer, Program
from dragoman.native.library import InstructionRecord, LibraryObject, ModelSizes, best_kernels, check, library
from dragoman.native.onnx_file import OnnxFileError, read_graph
from dragoman.native.program import GraphReader, check_attention, read_decoder, read_encoder
from dragoman.native.registers import Assignment, assign
from dragoman.native.shapes import check_shapes
from dragoman.native.weights_cache import WeightsCache, packed_name, weights_bytes
from dragoman.shortlist import Shortlist

PRECISION = "int8"


class _ProgramRole(IntEnum):
    """Program that a function of the library is about."""

    ENCODER = 0
    DECODER = 1


@dataclass(frozen=True, slots=True)
class Programs:
    """A bundle's graphs as programs, and the kernels that run them. Weights are views of mapped files."""

    library: CDLL
    kernels: str
    """Name of the kernels."""
    layers: Layers
    encoder: Program
    decoder: Program
    output: OutputLayer


def read_programs(bundle: Bundle, kernels: str | None = None) -> Programs:
    """Read a bundle's graphs; load no weights.

    Args:
        bundle: verified.
        kernels: name of the kernels; None for the best that the processor has.

    Raises:
        NotSupported: the library cannot run the bundle here.
    """
    precision, num_heads = bundle.manifest.precision, bundle.manifest.sizes.heads
    if precision != PRECISION:
        raise NotSupported(f"its precision is {precision}, and kernels are for {PRECISION}")
    if bundle.manifest.autoregression == "gru":
        raise NotSupported("it is a recurrent model, and kernels are for Transformers")
    loaded = library()
    if loaded is None:
        raise NotSupported("the kernels were not built when the package was installed")
    kernels = best_kernels() if kernels is None else kernels
    if not kernels:
        raise NotSupported("there are none for this processor")
    layers = Layers()
    try:
        graphs = [read_graph(bundle.file(name)) for name in (ENCODER_FILE, DECODER_FILE)]
        check_attention(graphs)
        readers = [GraphReader(graph, layers, num_heads) for graph in graphs]
        encoder = read_encoder(readers[0])
        decoder, output = read_decoder(readers[1])
        check_shapes(bundle.manifest, layers, encoder, decoder, output)
    except OnnxFileError as error:
        raise NotSupported(str(error)) from error
    except (IndexError, KeyError, StopIteration, ValueError) as error:  # of graphs that look like ours
        raise NotSupported(f"its graphs have an unknown form: {error!r}") from error
    return Programs(loaded, kernels, layers, encoder, decoder, output)


class NativeModel:
    """Programs and weights in the library. Safe to use from several threads; lives as long as its users."""

    def __init__(
        self,
        bundle: Bundle,
        kernels: str | None = None,
        shortlist: Shortlist | None = None,
        cache: WeightsCache | None = None,
    ) -> None:
        """Load a bundle.

        Args:
            bundle: verified.
            kernels: name of the kernels; None for the best that the processor has.
            shortlist: copied; None if every token may be used.
            cache: has the weights for all processes; None for weights in memory of this process.

        Raises:
            NotSupported: the library cannot run the bundle here.
        """
        programs = read_programs(bundle, kernels)
        self.kernels, self.library = programs.kernels, programs.library

        def pack() -> Iterator[memoryview]:
            self._load(programs, bundle.manifest, None)
            return self._parts()

        file = None if cache is None else cache.open(packed_name(bundle, self.kernels), pack)
        with file or nullcontext():
            self._load(programs, bundle.manifest, file)
        if shortlist is not None:
            self._add_shortlist(shortlist)

    def _load(self, programs: Programs, manifest: Manifest, file: BinaryIO | None) -> None:
        """Load programs, and their weights from memory or from a file that has them packed."""
        encoder, decoder, output, sizes = programs.encoder, programs.decoder, programs.output, manifest.sizes
        width = sizes.heads * sizes.head_size
        is_recurrent = manifest.autoregression == "ssru"
        num_cells = sizes.decoder_layers if is_recurrent else 0
        numbers = ModelSizes(
            width, sizes.heads, sizes.head_size, sizes.decoder_layers, num_cells, manifest.alignment.layer
        )
        pointer = c_void_p()
        number, size = (-1, 0) if file is None else (file.fileno(), weights_bytes(file))
        check(self.library.dragoman_new_model(self.kernels.encode(), numbers, number, size, pointer))
        self.pointer = LibraryObject(pointer, self.library.dragoman_free_model)
        self._add_layers(programs.layers)
        self._set_program(_ProgramRole.ENCODER, encoder, ())
        self._set_embedding(_ProgramRole.ENCODER, encoder.embedding, None)
        states = decoder.instructions[-1].target
        registers = self._set_program(_ProgramRole.DECODER, decoder, (states,)).registers
        self._set_embedding(_ProgramRole.DECODER, decoder.embedding, encoder.embedding.table)
        self._set_output(output, decoder.embedding.table, registers[states])
        self._set_lists(output.suppressed, manifest.alignment.heads)

    def _parts(self) -> Iterator[memoryview]:
        """Yield the packed weights in parts."""
        start, num_bytes = c_void_p(), c_int64()
        for index in count():
            check(self.library.dragoman_weights(self.pointer, index, start, num_bytes))
            if not start.value:
                return
            yield memoryview((c_char * num_bytes.value).from_address(start.value)).cast("B")

    def _call(self, name: str, *arguments: float | NDArray[Any] | Array[InstructionRecord] | None) -> None:
        """Call a function of the library for the model."""
        values = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in arguments]
        check(getattr(self.library, f"dragoman_{name}")(self.pointer, *values))

    def _add_layers(self, layers: Layers) -> None:
        for linear in layers.linears:
            weight, scales, bias = _int8(linear.weight), _float32(linear.scales), _float32(linear.bias)
            numbers = linear.step, linear.zero
            self._call("add_linear", weight, *weight.shape, scales, len(scales), bias, *numbers)
        for norm in layers.norms:
            self._call("add_norm", _float32(norm.gain), _float32(norm.bias), norm.epsilon)

    def _set_program(self, role: _ProgramRole, program: Program, results: Sequence[str]) -> Assignment:
        instructions = program.instructions
        assignment = assign(instructions, program.widths, results)
        for is_bytes, file in enumerate((assignment.floats, assignment.bytes)):
            for width in file.widths:
                self._call("add_register", role, is_bytes, width)
        records = [_record(each, assignment) for each in instructions]
        self._call("set_program", role, (InstructionRecord * len(records))(*records), len(records))
        return assignment

    def _set_embedding(
        self, role: _ProgramRole, embedding: Embedding, other_table: NDArray[Any] | None
    ) -> None:
        """Copy an embedding; its table only if it is not the other one."""
        is_other = other_table is not None and np.array_equal(embedding.table, other_table)
        table, positions = _int8(embedding.table), _float32(embedding.positions)
        sizes = (_float32(embedding.steps), len(table), positions, len(positions))
        self._call("set_embedding", role, None if is_other else table, *sizes)

    def _set_output(self, output: OutputLayer, embedding_table: NDArray[Any], register: int) -> None:
        table = None if np.array_equal(output.table, embedding_table) else _int8(output.table)
        scales, bias = _float32(output.scales), _float32(output.bias)
        self._call("set_output", table, len(output.table), scales, bias, output.zero, register)

    def _set_lists(self, suppressed: Sequence[int], heads: Sequence[int]) -> None:
        tokens, chosen = np.array(suppressed, np.int32), np.array(heads, np.int32)
        self._call("set_lists", tokens, len(tokens), chosen, len(chosen))

    def _add_shortlist(self, shortlist: Shortlist) -> None:
        always, offsets, listed = (
            _contiguous(array, np.uint32) for array in (shortlist.always, shortlist.offsets, shortlist.listed)
        )
        self._call("add_shortlist", always, len(always), offsets, shortlist.source_vocab, listed)


def _record(instruction: Instruction, assignment: Assignment) -> InstructionRecord:
    """Return an instruction with registers for its vectors."""
    names = (instruction.source, instruction.target, instruction.other)
    source, target, other = (assignment.registers.get(name, -1) for name in names)
    return InstructionRecord(
        int(instruction.kind),
        source,
        target,
        other,
        instruction.index,
        instruction.zero,
        int(instruction.activation),
        instruction.step,
        instruction.alpha,
    )


def _int8(array: NDArray[Any]) -> NDArray[np.int8]:
    return _contiguous(array, np.int8)


def _float32(array: NDArray[Any]) -> NDArray[np.float32]:
    return _contiguous(array, np.float32)


def _contiguous(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return an array that C can read: a weight in a file begins at any byte."""
    return np.require(array, dtype, ["C", "A"])
