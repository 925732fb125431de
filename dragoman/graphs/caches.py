"""Caches of decoder steps: the state by row, cross K/V by source or by row.

All are preallocated, all layers in one memory; onnxruntime uses their first rows in place. Shapes: L key
and value of each layer in turn, R rows, E entries (see `CrossCaches`), T positions, S source tokens, H heads,
D head size, N model width.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding

from dragoman.contract import CELL_DTYPE, SOURCE_WIDTH_MULTIPLE, CacheDType, padded_width
from dragoman.decoding.slots import rows_of
from dragoman.graphs.encoder import CrossKV
from dragoman.graphs.memory import CacheMemory, MemoryMaker

POSITIONS_MULTIPLE = 16
"""Initial positions of self K/V, which grow by a quarter when full, always to a multiple of this.
Compact memory is read faster: with 32 positions half filled, 32 rows took a tenth longer."""
KEPT_CAPACITY = 128
"""Maximum positions that self K/V keep allocated when no row is left."""
SHRINK_AT = 0.75
"""Cross K/V shrink when their sources need no more than this share of the width."""

LayerShape = tuple[int, int, int]
"""L, H, D."""


class DecoderState(Protocol):
    """State that a step passes to the next, row by row: rows join, move and leave.

    Methods that may relocate the memory return whether they did: it must then be bound again.
    """

    @property
    def num_rows(self) -> int:
        """Capacity in rows."""
        ...

    def reserve(self, positions: int, used: tuple[int, int]) -> bool:
        """Allocate positions in each row; keep the `used` first rows and positions."""
        ...

    def begin(self, rows: NDArray[np.int64], used: tuple[int, int]) -> bool:
        """Allocate and reset rows that have read nothing; keep the `used` first rows and positions.

        Args:
            rows: ascending; of those beyond the used ones, all up to the last.
            used: number of rows and positions in use.
        """
        ...

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:
        """Let row i become row rows[i], of which at most `positions` have been read."""
        ...

    def forget(self) -> bool:
        """Release memory that is unlikely to be needed again soon; no row is left."""
        ...

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        """Bind the first rows in onnxruntime; like `CacheMemory.bind`."""
        ...


class SelfCaches:
    """Self K/V of every row, [L, R, H, T, D]; the capacity in rows is doubled when full."""

    def __init__(self, maker: MemoryMaker, layers: LayerShape, dtype: CacheDType) -> None:
        self._maker = maker
        self._layers = layers
        self._dtype = dtype
        self.memory = self._empty()

    @property
    def num_rows(self) -> int:
        """Capacity in rows."""
        return self.memory.shape[1]

    @property
    def positions(self) -> int:
        """T, the capacity in positions."""
        return self.memory.shape[3]

    def reserve(self, positions: int, used: tuple[int, int]) -> bool:
        if positions <= self.positions:
            return False
        capacity = _rounded_up(max(positions, self.positions * 5 // 4), POSITIONS_MULTIPLE)
        self.memory = self.memory.resized((self.num_rows, capacity), used)
        return True

    def begin(self, rows: NDArray[np.int64], used: tuple[int, int]) -> bool:
        """Only allocate: rows are never read beyond their own length."""
        capacity = _grown(self.num_rows, int(rows[-1]) + 1)
        if capacity == self.num_rows:
            return False
        self.memory = self.memory.resized((capacity, self.positions), used)
        return True

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:
        before = self.memory
        self.memory = before.move(rows, positions)
        return self.memory is not before

    def forget(self) -> bool:
        """Release what one long target needed."""
        if self.positions <= KEPT_CAPACITY:
            return False
        self.memory = self._empty()
        return True

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        return self.memory.bind(binding, ports, num_rows, self.memory.shape[2:])

    def _empty(self) -> CacheMemory:
        layers, heads, head_size = self._layers
        return self._maker.zeros((layers, 0, heads, POSITIONS_MULTIPLE, head_size), self._dtype)


class CellCaches:
    """A cell for each layer of every row, [L, R, 1, 1, N]; here L has one entry for each layer.

    The size of a cell does not depend on the position; the capacity in rows is doubled when full.
    """

    def __init__(self, maker: MemoryMaker, num_layers: int, width: int) -> None:
        self._shape = (num_layers, width)
        self.memory = maker.zeros((num_layers, 0, 1, 1, width), CELL_DTYPE)

    @property
    def num_rows(self) -> int:
        return self.memory.shape[1]

    def reserve(self, positions: int, used: tuple[int, int]) -> bool:  # noqa: ARG002 -- protocol
        return False

    def begin(self, rows: NDArray[np.int64], used: tuple[int, int]) -> bool:
        """Set the first cell of each row to zero."""
        before, (num_layers, width) = self.memory, self._shape
        zeros = np.zeros((num_layers, len(rows), 1, 1, width), CELL_DTYPE)
        size = (_grown(self.num_rows, int(rows[-1]) + 1), 1)
        self.memory = before.write(rows, zeros, size, used[0])
        return self.memory is not before

    def move(self, rows: NDArray[np.int64], positions: int) -> bool:  # noqa: ARG002 -- protocol
        before = self.memory
        self.memory = before.move(rows, 1)
        return self.memory is not before

    def forget(self) -> bool:
        return False

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int) -> object:
        return self.memory.bind(binding, ports, num_rows, (self._shape[1],))


class CrossCaches:
    """Cross K/V of every source, [L, E, H, S, D], S just wide enough for the longest.

    As floats they have one entry per source, which its beams share; as int8, one per row.
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
        """Number of entries in use."""
        return len(self._lengths)

    @property
    def width(self) -> int:
        """S, the width in source tokens."""
        return self.memory.shape[3]

    @property
    def ends(self) -> NDArray[np.int32]:
        """Position of the last token of each entry's source, int32 [E]; written in place."""
        return self._ends[: self.num_entries]

    def join(self, cross: CrossKV, slots: NDArray[np.int64]) -> bool:
        """Copy more sources into ascending slots; return whether the memory has moved."""
        before, used = self.memory, self.num_entries
        entries = rows_of(slots, self._copies)
        lengths = np.ones(max(used, int(entries[-1]) + 1), np.int64)
        lengths[:used] = self._lengths
        lengths[entries] = cross.lengths.repeat(self._copies)
        self._lengths = lengths
        self.memory = before.write(entries, cross.memory, self._size(), used)
        self._write_extents(entries)
        return self.memory is not before

    def release(self, slots: NDArray[np.int64]) -> None:
        """Require no width for the sources in these slots: they have left."""
        self._lengths[rows_of(slots, self._copies)] = 1

    def keep(self, slots: NDArray[np.int64]) -> bool:
        """Let source i become source slots[i]; return whether the memory has moved."""
        before, entries = self.memory, rows_of(slots, self._copies)
        self.memory = before.move(entries, self.width)
        self._lengths = self._lengths[entries]
        size = self._size()
        if len(slots) and size[1] != self.width:
            self.memory = self.memory.resized(size, (len(entries), min(self.width, size[1])))
        self._write_extents(slice(0, len(entries)))
        return self.memory is not before

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]]) -> object:
        """Bind the caches in onnxruntime; like `CacheMemory.bind`."""
        return self.memory.bind(binding, ports, self.num_entries, self.memory.shape[2:])

    def inputs(self) -> dict[str, NDArray[Any]]:
        """Return the length of each entry, as inputs of the decoder graph."""
        if self._is_shared:
            return {"source_mask": self._mask[: self.num_entries]}
        return {"source_ends": self.ends, "source_width": np.array(self.width, np.int32)}

    def _size(self) -> tuple[int, int]:
        """Return N and T for the sources' lengths: those of the memory if they fit it well."""
        _, capacity, _, width, _ = self.memory.shape
        needed = padded_width(int(self._lengths.max(initial=1)))
        if SHRINK_AT * width < needed <= width and self.num_entries <= capacity:
            return capacity, width
        return _grown(capacity, self.num_entries), needed

    def _write_extents(self, entries: NDArray[np.int64] | slice) -> None:
        """Write where the tokens of some entries end; of all entries if the memory has another size."""
        _, capacity, _, width, _ = self.memory.shape
        if self._mask.shape != (capacity, width):
            self._ends = np.zeros(capacity, np.int32)
            self._mask = np.zeros((capacity, width), np.int32)
            entries = slice(0, self.num_entries)
        lengths = self._lengths[entries]
        self._ends[entries] = lengths - 1
        if self._is_shared:
            self._mask[entries] = np.arange(width) < lengths[:, None]


def _grown(capacity: int, num_rows: int) -> int:
    """Return a capacity for so many rows: doubled when full."""
    return capacity if num_rows <= capacity else max(num_rows, 2 * capacity)


def _rounded_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
