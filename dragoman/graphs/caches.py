"""Memory that decoder steps read and write: self K/V by row, cross K/V by source.

Both are preallocated, and their first rows are handed to onnxruntime as they lie. Shapes: B sources, R rows,
T positions, S source tokens, H heads, D head size.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import SOURCE_WIDTH_MULTIPLE, CacheDType
from dragoman.graphs.encoder import CrossKV, padded_width

FIRST_CAPACITY = 32
"""Positions that self K/V hold at first; doubled when they are full."""
KEPT_CAPACITY = 128
"""Positions that self K/V keep room for when no row is left."""
SHRINK_AT = 0.75
"""Cross K/V are laid out anew when their sources need no more than this share of the width."""


class SelfCaches:
    """Self K/V of every row: [R, H, T, D] each, T and the rows' capacity doubled when they are full."""

    def __init__(self, num_arrays: int, row_shape: tuple[int, int], dtype: CacheDType) -> None:
        self._row_shape = row_shape
        self._dtype = np.dtype(dtype)
        self.positions = FIRST_CAPACITY
        self.arrays = [self._zeros(0) for _ in range(num_arrays)]

    @property
    def num_rows(self) -> int:
        """There is room for."""
        return len(self.arrays[0])

    def reserve(self, num_rows: int, positions: int, used: tuple[int, int]) -> bool:
        """Make room, keeping the `used` first rows and positions; whether the memory is another one now."""
        if num_rows <= self.num_rows and positions <= self.positions:
            return False
        rows = max(num_rows, 2 * self.num_rows) if num_rows > self.num_rows else self.num_rows
        while self.positions < positions:
            self.positions *= 2
        kept = (slice(used[0]), slice(None), slice(used[1]))
        for index, array in enumerate(self.arrays):
            self.arrays[index] = self._zeros(rows)
            self.arrays[index][kept] = array[kept]
        return True

    def move(self, rows: NDArray[np.int64], positions: int) -> None:
        """Row i becomes what row rows[i] was, as far as `positions`; only what changes is copied."""
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        if len(moved):
            parents = rows[moved]
            for array in self.arrays:
                array[moved, :, :positions] = array[parents, :, :positions]

    def forget(self) -> bool:
        """No row is left: give memory back that one long target asked for; whether any was."""
        if self.positions <= KEPT_CAPACITY:
            return False
        self.positions = FIRST_CAPACITY
        self.arrays = [self._zeros(0) for _ in self.arrays]
        return True

    def _zeros(self, num_rows: int) -> NDArray[np.int8 | np.float32]:
        heads, head_size = self._row_shape
        return np.zeros((num_rows, heads, self.positions, head_size), self._dtype)


class CrossCaches:
    """Cross K/V and mask of every source: [B, H, S, D] and [B, S], S just wide enough for the longest."""

    def __init__(self, num_arrays: int, row_shape: tuple[int, int]) -> None:
        self._row_shape = row_shape
        self.lengths = np.zeros(0, np.int64)
        """Tokens of each source, [B]."""
        self.mask = np.zeros((0, SOURCE_WIDTH_MULTIPLE), np.int32)
        self.arrays = self._zeros(num_arrays, self.mask.shape)

    def join(self, cross: CrossKV) -> bool:
        """Copy more sources in after the others; whether the memory is another one now."""
        first = len(self.lengths)
        lengths = np.concatenate([self.lengths, cross.source_mask.sum(axis=1, dtype=np.int64)])
        has_moved = self._lay_out(lengths)
        self.lengths = lengths
        new = slice(first, len(lengths))
        width = min(self.mask.shape[1], cross.source_mask.shape[1])
        self.mask[new, :width] = cross.source_mask[:, :width]
        self.mask[new, width:] = 0
        for array, joining in zip(self.arrays, cross.arrays, strict=True):
            array[new, :, :width] = joining[:, :, :width]
            array[new, :, width:] = 0.0  # masked, but NaN left behind there would not be masked
        return has_moved

    def keep(self, slots: NDArray[np.int64]) -> bool:
        """Source i becomes what source slots[i] was; whether the memory is another one now."""
        moved = np.flatnonzero(slots != np.arange(len(slots)))
        if len(moved):
            for memory in (*self.arrays, self.mask):
                memory[moved] = memory[slots[moved]]
        self.lengths = self.lengths[slots]
        return bool(len(slots)) and self._lay_out(self.lengths)

    def _lay_out(self, lengths: NDArray[np.int64]) -> bool:
        """Give the memory room for sources of these lengths, keeping those that are there."""
        capacity, width = self.mask.shape
        needed = padded_width(int(lengths.max(initial=1)))
        is_wide_enough = SHRINK_AT * width < needed <= width
        if is_wide_enough and len(lengths) <= capacity:
            return False
        capacity = max(len(lengths), 2 * capacity) if len(lengths) > capacity else capacity
        used = (slice(min(len(self.lengths), len(lengths))), slice(min(width, needed)))
        mask = np.zeros((capacity, needed), np.int32)
        mask[used] = self.mask[used]
        arrays = self._zeros(len(self.arrays), mask.shape)
        for array, old in zip(arrays, self.arrays, strict=True):
            array[used[0], :, used[1]] = old[used[0], :, used[1]]
        self.mask, self.arrays = mask, arrays
        return True

    def _zeros(self, num_arrays: int, shape: Sequence[int]) -> list[NDArray[np.float32]]:
        heads, head_size = self._row_shape
        return [np.zeros((shape[0], heads, shape[1], head_size), np.float32) for _ in range(num_arrays)]
