"""Memory that decoder steps read and write: self K/V by row, cross K/V by source or by row.

Both are preallocated, all layers in one array, and their first rows are handed to onnxruntime as they lie.
Shapes: L key and value of each layer in turn, B sources, R rows, E entries (see `CrossCaches`), T positions,
S source tokens, H heads, D head size.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import SOURCE_WIDTH_MULTIPLE, CacheDType
from dragoman.decoding.slots import rows_of
from dragoman.graphs.encoder import CrossKV, padded_width

POSITIONS_MULTIPLE = 16
"""Self K/V hold as many positions, then a quarter more when they are full, always a multiple of this.
What lies close together is read faster: with 32 positions half filled, 32 rows took a tenth longer."""
KEPT_CAPACITY = 128
"""Positions that self K/V keep room for when no row is left."""
SHRINK_AT = 0.75
"""Cross K/V are laid out anew when their sources need no more than this share of the width."""


class SelfCaches:
    """Self K/V of every row, [L, R, H, T, D]; the rows' capacity is doubled when they are full."""

    def __init__(self, num_arrays: int, row_shape: tuple[int, int], dtype: CacheDType) -> None:
        self._num_arrays = num_arrays
        self._row_shape = row_shape
        self._dtype = np.dtype(dtype)
        self.positions = POSITIONS_MULTIPLE
        self.memory = self._zeros(0)

    @property
    def num_rows(self) -> int:
        """There is room for."""
        return int(self.memory.shape[1])

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        """Make room, keeping the `used` first rows and positions; whether the memory is another one now."""
        if num_rows <= self.num_rows and positions <= self.positions:
            return False
        rows = max(num_rows, 2 * self.num_rows) if num_rows > self.num_rows else self.num_rows
        if positions > self.positions:
            self.positions = _rounded_up(max(positions, self.positions * 5 // 4), POSITIONS_MULTIPLE)
        kept = (slice(None), slice(used[0]), slice(None), slice(used[1]))
        memory = self._zeros(rows)
        memory[kept] = self.memory[kept]
        self.memory = memory
        return True

    def move(self, rows: NDArray[np.int64], positions: int) -> None:
        """Row i becomes what row rows[i] was, as far as `positions`; only what changes is copied."""
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        if len(moved):
            self.memory[:, moved, :, :positions] = self.memory[:, rows[moved], :, :positions]

    def forget(self) -> bool:
        """No row is left: give memory back that one long target asked for; whether any was."""
        if self.positions <= KEPT_CAPACITY:
            return False
        self.positions = POSITIONS_MULTIPLE
        self.memory = self._zeros(0)
        return True

    def _zeros(self, num_rows: int) -> NDArray[np.int8 | np.float32]:
        heads, head_size = self._row_shape
        return np.zeros((self._num_arrays, num_rows, heads, self.positions, head_size), self._dtype)


class CrossCaches:
    """Cross K/V of every source, [L, E, H, S, D], S just wide enough for the longest.

    As float32 they have one entry for each source, which its beams share; as int8 one for each row.
    """

    def __init__(
        self, num_arrays: int, row_shape: tuple[int, int], dtype: CacheDType, beam_size: int
    ) -> None:
        self._row_shape = row_shape
        self._dtype = np.dtype(dtype)
        self._is_shared = dtype == "float32"
        self._copies = 1 if self._is_shared else beam_size
        self._lengths = np.zeros(0, np.int64)  # tokens of each entry's source, [E]
        self._ends = np.zeros(0, np.int32)
        self._mask = np.zeros((0, 0), np.int32)
        self.memory = self._zeros(num_arrays, (0, SOURCE_WIDTH_MULTIPLE))

    @property
    def num_entries(self) -> int:
        """In use."""
        return len(self._lengths)

    @property
    def width(self) -> int:
        """S."""
        return int(self.memory.shape[3])

    def join(self, cross: CrossKV) -> bool:
        """Copy more sources in after the others; whether the memory is another one now."""
        first = self.num_entries
        lengths = np.concatenate([self._lengths, cross.lengths.repeat(self._copies)])
        has_moved = self._lay_out(lengths)
        self._lengths = lengths
        new, width = slice(first, len(lengths)), min(self.width, cross.memory.shape[3])
        joining = cross.memory[:, :, :, :width]
        self.memory[:, new, :, :width] = (
            joining if self._copies == 1 else joining.repeat(self._copies, axis=1)
        )
        self._write_extents(new)
        if self._is_shared:
            self.memory[:, new, :, width:] = 0  # masked, but NaN left behind there would not be masked
        return has_moved

    def keep(self, slots: NDArray[np.int64]) -> bool:
        """Source i becomes what source slots[i] was; whether the memory is another one now."""
        entries = rows_of(slots, self._copies)
        moved = np.flatnonzero(entries != np.arange(len(entries)))
        if len(moved):
            self.memory[:, moved] = self.memory[:, entries[moved]]
        self._lengths = self._lengths[entries]
        has_moved = bool(len(slots)) and self._lay_out(self._lengths)
        self._write_extents(slice(0, len(entries)))
        return has_moved

    def inputs(self) -> dict[str, NDArray[Any]]:
        """How far each entry reaches, as the decoder graph reads it."""
        if self._is_shared:
            return {"source_mask": self._mask[: self.num_entries]}
        return {
            "source_ends": self._ends[: self.num_entries],
            "source_width": np.array(self.width, np.int32),
        }

    def _lay_out(self, lengths: NDArray[np.int64]) -> bool:
        """Give the memory room for sources of these lengths, keeping those that are there."""
        num_arrays, capacity, _, width, _ = self.memory.shape
        needed = padded_width(int(lengths.max(initial=1)))
        is_wide_enough = SHRINK_AT * width < needed <= width
        if is_wide_enough and len(lengths) <= capacity:
            return False
        capacity = max(len(lengths), 2 * capacity) if len(lengths) > capacity else capacity
        used = (
            slice(None),
            slice(min(self.num_entries, len(lengths))),
            slice(None),
            slice(min(width, needed)),
        )
        memory = self._zeros(num_arrays, (capacity, needed))
        memory[used] = self.memory[used]
        self.memory = memory
        self._ends = np.zeros(capacity, np.int32)
        self._mask = np.zeros((capacity, needed), np.int32)
        self._write_extents(slice(0, min(self.num_entries, len(lengths))))
        return True

    def _write_extents(self, entries: slice) -> None:
        """Where the tokens of some entries end."""
        lengths = self._lengths[entries]
        self._ends[entries] = lengths - 1
        if self._is_shared:
            self._mask[entries] = np.arange(self.width) < lengths[:, None]

    def _zeros(self, num_arrays: int, shape: tuple[int, int]) -> NDArray[np.int8 | np.float32]:
        heads, head_size = self._row_shape
        return np.zeros((num_arrays, shape[0], heads, shape[1], head_size), self._dtype)


def _rounded_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
