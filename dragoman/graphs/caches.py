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

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        """Allocate rows, and positions in each; keep the `used` first rows and positions."""
        ...

    def begin(self, rows: slice) -> bool:
        """Reset rows that have read nothing."""
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

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        if num_rows <= self.num_rows and positions <= self.positions:
            return False
        rows = max(num_rows, 2 * self.num_rows) if num_rows > self.num_rows else self.num_rows
        capacity = self.positions
        if positions > capacity:
            capacity = _rounded_up(max(positions, capacity * 5 // 4), POSITIONS_MULTIPLE)
        self.memory = self.memory.resized((rows, capacity), used)
        return True

    def begin(self, rows: slice) -> bool:  # noqa: ARG002 -- protocol
        """Do nothing: rows are never read beyond their own length."""
        return False

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

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:  # noqa: ARG002 -- protocol
        if num_rows <= self.num_rows:
            return False
        self.memory = self.memory.resized((max(num_rows, 2 * self.num_rows), 1), (used[0], 1))
        return True

    def begin(self, rows: slice) -> bool:
        """Set the first cell of each row to zero."""
        before, (num_layers, width) = self.memory, self._shape
        zeros = np.zeros((num_layers, rows.stop - rows.start, 1, 1, width), CELL_DTYPE)
        self.memory = before.write(rows.start, zeros, 1)
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

    def join(self, cross: CrossKV) -> bool:
        """Append a copy of more sources; return whether the memory has moved."""
        before, first = self.memory, self.num_entries
        lengths = np.concatenate([self._lengths, cross.lengths.repeat(self._copies)])
        self._resize(lengths)
        self._lengths = lengths
        self.memory = self.memory.write(first, cross.memory, self._copies)
        self._write_extents(slice(first, len(lengths)))
        return self.memory is not before

    def keep(self, slots: NDArray[np.int64]) -> bool:
        """Let source i become source slots[i]; return whether the memory has moved."""
        before, entries = self.memory, rows_of(slots, self._copies)
        self.memory = before.move(entries, self.width)
        self._lengths = self._lengths[entries]
        if len(slots):
            self._resize(self._lengths)
        self._write_extents(slice(0, len(entries)))
        return self.memory is not before

    def bind(self, binding: IOBinding, ports: Sequence[tuple[str, str]]) -> object:
        """Bind the caches in onnxruntime; like `CacheMemory.bind`."""
        return self.memory.bind(binding, ports, self.num_entries, self.memory.shape[2:])

    def inputs(self) -> dict[str, NDArray[Any]]:
        """Return the length of each entry, as inputs of the decoder graph."""
        if self._is_shared:
            return {"source_mask": self._mask[: self.num_entries]}
        return {
            "source_ends": self.ends,
            "source_width": np.array(self.width, np.int32),
        }

    def _resize(self, lengths: NDArray[np.int64]) -> None:
        """Resize the memory for sources of these lengths; keep those already there."""
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
        """Write where the tokens of some entries end."""
        lengths = self._lengths[entries]
        self._ends[entries] = lengths - 1
        if self._is_shared:
            self._mask[entries] = np.arange(self.width) < lengths[:, None]


def _rounded_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
