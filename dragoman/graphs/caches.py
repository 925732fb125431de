"""What decoder steps read and write: the state by row, cross K/V by source or by row.

All are preallocated, all layers in one memory, and their first rows are handed to onnxruntime as they lie.
Shapes: L key and value of each layer in turn, R rows, E entries (see `CrossCaches`), T positions, S source
tokens, H heads, D head size, N model width.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding

from dragoman.contract import CELL_DTYPE, SOURCE_WIDTH_MULTIPLE, CacheDType, padded_width
from dragoman.decoding.slots import rows_of
from dragoman.graphs.encoder import CrossKV
from dragoman.graphs.memory import Memory, MemoryMaker

POSITIONS_MULTIPLE = 16
"""Self K/V hold as many positions, then a quarter more when they are full, always a multiple of this.
What lies close together is read faster: with 32 positions half filled, 32 rows took a tenth longer."""
KEPT_CAPACITY = 128
"""Positions that self K/V keep room for when no row is left."""
SHRINK_AT = 0.75
"""Cross K/V are laid out anew when their sources need no more than this share of the width."""

LayerShape = tuple[int, int, int]
"""L, H, D."""


class DecoderState(Protocol):
    """What a step carries on to the next, row by row: rows join, move and leave.

    What may put the memory in another place says whether it did: onnxruntime has to be told.
    """

    @property
    def num_rows(self) -> int:
        """There is room for."""
        ...

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        """Make room for rows, and for positions in each, keeping the `used` first rows and positions."""
        ...

    def begin(self, rows: slice) -> bool:
        """Let rows begin that have seen nothing."""
        ...

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:
        """Row i becomes what row rows[i] was, of which no more than `positions` have been seen."""
        ...

    def forget(self) -> bool:
        """No row is left: give memory back that would not be needed again soon."""
        ...

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        """Tell onnxruntime where the first rows lie; as `Memory.bind`."""
        ...


class SelfCaches:
    """Self K/V of every row, [L, R, H, T, D]; the rows' capacity is doubled when they are full."""

    def __init__(self, maker: MemoryMaker, layers: LayerShape, dtype: CacheDType) -> None:
        self._maker = maker
        self._layers = layers
        self._dtype = dtype
        self.memory = self._empty()

    @property
    def num_rows(self) -> int:
        """There is room for."""
        return self.memory.shape[1]

    @property
    def positions(self) -> int:
        """T."""
        return self.memory.shape[3]

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        if num_rows <= self.num_rows and positions <= self.positions:
            return False
        rows = max(num_rows, 2 * self.num_rows) if num_rows > self.num_rows else self.num_rows
        capacity = self.positions
        if positions > capacity:
            capacity = _rounded_up(max(positions, capacity * 5 // 4), POSITIONS_MULTIPLE)
        self.memory = self.memory.resized((rows, capacity), used)
        return True

    def begin(self, rows: slice) -> bool:  # noqa: ARG002 -- the protocol's
        """Nothing is read of a row beyond its own length."""
        return False

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:
        before = self.memory
        self.memory = before.move(rows, positions)
        return self.memory is not before

    def forget(self) -> bool:
        """Gives back what one long target asked for."""
        if self.positions <= KEPT_CAPACITY:
            return False
        self.memory = self._empty()
        return True

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        return self.memory.bind(binding, ports, num_rows, self.memory.shape[2:])

    def _empty(self) -> Memory:
        layers, heads, head_size = self._layers
        return self._maker.zeros((layers, 0, heads, POSITIONS_MULTIPLE, head_size), self._dtype)


class Cells:
    """A cell for each layer of every row, [L, R, 1, 1, N]; L is one here for each layer.

    A cell is as large after any number of positions; their capacity is doubled when rows are full.
    """

    def __init__(self, maker: MemoryMaker, num_layers: int, width: int) -> None:
        self._shape = (num_layers, width)
        self.memory = maker.zeros((num_layers, 0, 1, 1, width), CELL_DTYPE)

    @property
    def num_rows(self) -> int:
        return self.memory.shape[1]

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:  # noqa: ARG002 -- the protocol's
        if num_rows <= self.num_rows:
            return False
        self.memory = self.memory.resized((max(num_rows, 2 * self.num_rows), 1), (used[0], 1))
        return True

    def begin(self, rows: slice) -> bool:
        """A row's first cell is zero."""
        before, (num_layers, width) = self.memory, self._shape
        zeros = np.zeros((num_layers, rows.stop - rows.start, 1, 1, width), CELL_DTYPE)
        self.memory = before.write(rows.start, zeros, 1)
        return self.memory is not before

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:  # noqa: ARG002 -- the protocol's
        before = self.memory
        self.memory = before.move(rows, 1)
        return self.memory is not before

    def forget(self) -> bool:
        return False

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        return self.memory.bind(binding, ports, num_rows, (self._shape[1],))


class CrossCaches:
    """Cross K/V of every source, [L, E, H, S, D], S just wide enough for the longest.

    As floats they have one entry for each source, which its beams share; as int8 one for each row.
    """

    def __init__(self, maker: MemoryMaker, layers: LayerShape, dtype: CacheDType, beam_size: int) -> None:
        num_arrays, heads, head_size = layers
        self._is_shared = dtype != "int8"
        self._copies = 1 if self._is_shared else beam_size
        self._lengths = np.zeros(0, np.int64)  # tokens of each entry's source, [E]
        self._ends = np.zeros(0, np.int32)
        self._mask = np.zeros((0, 0), np.int32)
        self.memory = maker.zeros((num_arrays, 0, heads, SOURCE_WIDTH_MULTIPLE, head_size), dtype)

    @property
    def num_entries(self) -> int:
        """In use."""
        return len(self._lengths)

    @property
    def width(self) -> int:
        """S."""
        return self.memory.shape[3]

    @property
    def ends(self) -> NDArray[np.int32]:
        """Position of the last token of each entry's source, int32 [E]; written in place."""
        return self._ends[: self.num_entries]

    def join(self, cross: CrossKV) -> bool:
        """Copy more sources in after the others; whether the memory is another one now."""
        before, first = self.memory, self.num_entries
        lengths = np.concatenate([self._lengths, cross.lengths.repeat(self._copies)])
        self._lay_out(lengths)
        self._lengths = lengths
        self.memory = self.memory.write(first, cross.memory, self._copies)
        self._write_extents(slice(first, len(lengths)))
        return self.memory is not before

    def keep(self, slots: NDArray[np.int64]) -> bool:
        """Source i becomes what source slots[i] was; whether the memory is another one now."""
        before, entries = self.memory, rows_of(slots, self._copies)
        self.memory = before.move(entries, self.width)
        self._lengths = self._lengths[entries]
        if len(slots):
            self._lay_out(self._lengths)
        self._write_extents(slice(0, len(entries)))
        return self.memory is not before

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]]) -> object:
        """Tell onnxruntime where they lie; as `Memory.bind`."""
        return self.memory.bind(binding, ports, self.num_entries, self.memory.shape[2:])

    def inputs(self) -> dict[str, NDArray[Any]]:
        """How far each entry reaches, as the decoder graph reads it."""
        if self._is_shared:
            return {"source_mask": self._mask[: self.num_entries]}
        return {
            "source_ends": self.ends,
            "source_width": np.array(self.width, np.int32),
        }

    def _lay_out(self, lengths: NDArray[np.int64]) -> None:
        """Give the memory room for sources of these lengths, keeping those that are there."""
        _, capacity, _, width, _ = self.memory.shape
        needed = padded_width(int(lengths.max(initial=1)))
        is_wide_enough = SHRINK_AT * width < needed <= width
        if is_wide_enough and len(lengths) <= capacity:
            return
        capacity = max(len(lengths), 2 * capacity) if len(lengths) > capacity else capacity
        num_kept = min(self.num_entries, len(lengths))
        self.memory = self.memory.resized((capacity, needed), (num_kept, min(width, needed)))
        self._ends = np.zeros(capacity, np.int32)
        self._mask = np.zeros((capacity, needed), np.int32)
        self._write_extents(slice(0, num_kept))

    def _write_extents(self, entries: slice) -> None:
        """Where the tokens of some entries end."""
        lengths = self._lengths[entries]
        self._ends[entries] = lengths - 1
        if self._is_shared:
            self._mask[entries] = np.arange(self.width) < lengths[:, None]


def _rounded_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
