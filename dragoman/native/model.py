"""A bundle's programs and weights, loaded into the kernels' library."""

from collections.abc import Sequence
from ctypes import CDLL, c_void_p
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.native.instructions import (
    Embedding,
    Instruction,
    Layers,
    NotSupported,
    OutputLayer,
    Program,
)
from dragoman.native.library import InstructionRecord, LibraryObject, ModelSizes, best_kernels, check, library
from dragoman.native.onnx_file import OnnxFileError, read_graph
from dragoman.native.program import GraphReader, check_attention, read_decoder, read_encoder
from dragoman.native.registers import Assignment, assign
from dragoman.native.shapes import check_shapes
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
        self, bundle: Bundle, kernels: str | None = None, shortlist: Shortlist | None = None
    ) -> None:
        """Load a bundle.

        Args:
            bundle: verified.
            kernels: name of the kernels; None for the best that the processor has.
            shortlist: copied; None if every token may be used.

        Raises:
            NotSupported: the library cannot run the bundle here.
        """
        programs = read_programs(bundle, kernels)
        encoder, decoder, output = programs.encoder, programs.decoder, programs.output
        self.kernels, self.library = programs.kernels, programs.library
        manifest, sizes = bundle.manifest, bundle.manifest.sizes
        width = sizes.heads * sizes.head_size
        is_recurrent = manifest.autoregression == "ssru"
        num_cells = sizes.decoder_layers if is_recurrent else 0
        numbers = ModelSizes(
            width, sizes.heads, sizes.head_size, sizes.decoder_layers, num_cells, manifest.alignment.layer
        )
        pointer = c_void_p()
        check(self.library.dragoman_new_model(self.kernels.encode(), numbers, pointer))
        self.pointer = LibraryObject(pointer, self.library.dragoman_free_model)
        self._add_layers(programs.layers)
        self._set_program(_ProgramRole.ENCODER, encoder, ())
        self._set_embedding(_ProgramRole.ENCODER, encoder.embedding, None)
        states = decoder.instructions[-1].target
        registers = self._set_program(_ProgramRole.DECODER, decoder, (states,)).registers
        self._set_embedding(_ProgramRole.DECODER, decoder.embedding, encoder.embedding.table)
        self._set_output(output, decoder.embedding.table, registers[states])
        self._set_lists(output.suppressed, manifest.alignment.heads)
        if shortlist is not None:
            self._add_shortlist(shortlist)

    def _add_layers(self, layers: Layers) -> None:
        add_linear, add_norm = self.library.dragoman_add_linear, self.library.dragoman_add_norm
        for linear in layers.linears:
            weight, scales, bias = (
                _contiguous(linear.weight, np.int8),
                _contiguous(linear.scales),
                _contiguous(linear.bias),
            )
            inputs, outputs = weight.shape
            check(
                add_linear(
                    self.pointer,
                    weight.ctypes.data,
                    inputs,
                    outputs,
                    scales.ctypes.data,
                    len(scales),
                    bias.ctypes.data,
                    linear.step,
                    linear.zero,
                )
            )
        for norm in layers.norms:
            gain, bias = _contiguous(norm.gain), _contiguous(norm.bias)
            check(add_norm(self.pointer, gain.ctypes.data, bias.ctypes.data, norm.epsilon))

    def _set_program(self, role: _ProgramRole, program: Program, results: Sequence[str]) -> Assignment:
        instructions = program.instructions
        assignment = assign(instructions, program.widths, results)
        for is_bytes, file in enumerate((assignment.floats, assignment.bytes)):
            for width in file.widths:
                check(self.library.dragoman_add_register(self.pointer, role, is_bytes, width))
        records = [_record(each, assignment) for each in instructions]
        array = (InstructionRecord * len(records))(*records)
        check(self.library.dragoman_set_program(self.pointer, role, array, len(records)))
        return assignment

    def _set_embedding(
        self, role: _ProgramRole, embedding: Embedding, other_table: NDArray[Any] | None
    ) -> None:
        """Copy an embedding; its table only if it is not the other one."""
        is_other = other_table is not None and np.array_equal(embedding.table, other_table)
        table, steps = _contiguous(embedding.table, np.int8), _contiguous(embedding.steps)
        positions = _contiguous(embedding.positions)
        check(
            self.library.dragoman_set_embedding(
                self.pointer,
                role,
                None if is_other else table.ctypes.data,
                steps.ctypes.data,
                len(table),
                positions.ctypes.data,
                len(positions),
            )
        )

    def _set_output(self, output: OutputLayer, embedding_table: NDArray[Any], register: int) -> None:
        is_tied = np.array_equal(output.table, embedding_table)
        table, scales, bias = (
            _contiguous(output.table, np.int8),
            _contiguous(output.scales),
            _contiguous(output.bias),
        )
        check(
            self.library.dragoman_set_output(
                self.pointer,
                None if is_tied else table.ctypes.data,
                len(table),
                scales.ctypes.data,
                bias.ctypes.data,
                output.zero,
                register,
            )
        )

    def _set_lists(self, suppressed: Sequence[int], heads: Sequence[int]) -> None:
        tokens, chosen = np.array(suppressed, np.int32), np.array(heads, np.int32)
        check(
            self.library.dragoman_set_lists(
                self.pointer, tokens.ctypes.data, len(tokens), chosen.ctypes.data, len(chosen)
            )
        )

    def _add_shortlist(self, shortlist: Shortlist) -> None:
        always, offsets, listed = (
            _contiguous(array, np.uint32) for array in (shortlist.always, shortlist.offsets, shortlist.listed)
        )
        check(
            self.library.dragoman_add_shortlist(
                self.pointer,
                always.ctypes.data,
                len(always),
                offsets.ctypes.data,
                shortlist.source_vocab,
                listed.ctypes.data,
            )
        )


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


def _contiguous(array: NDArray[Any], dtype: Any = np.float32) -> NDArray[Any]:
    """Return an array that C can read: a weight in a file begins at any byte."""
    return np.require(array, dtype, ["C", "A"])
