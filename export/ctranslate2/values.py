"""Weights in a `model.bin` as float32: parts of joined layers, integers with scales, and one more row."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from export.tensors.tensor import NUMPY_TYPES, StoredTensor, TensorFileError

QUANTISED = frozenset({"int8", "int16"})
ROWS_AT_ONCE = 4096
"""Number of rows that become float32 at a time."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QuantisedRows:
    """Rows of a matrix of integers; each integer divided by the scale of its row is the weight."""

    stored: StoredTensor
    """int8 or int16, [all rows, columns]."""
    scales: tuple[float, ...]
    """Scale of each row, or one for all."""
    first: int
    num_rows: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.num_rows, *self.stored.shape[1:])

    def integers(self) -> NDArray[np.int8] | NDArray[np.int16]:
        """Return the integers, mapped into memory."""
        dtype = np.dtype(NUMPY_TYPES[self.stored.dtype])
        offset = self.stored.offset_bytes + self.first * self.stored.shape[1] * dtype.itemsize
        return np.memmap(self.stored.path, dtype, "r", offset, self.shape)

    def read(self) -> Floats:
        """Return the weights."""
        integers, weights = self.integers(), np.empty(self.shape, np.float32)
        scales = np.array(self.scales, np.float32)
        if len(scales) > 1:
            scales = scales[self.first : self.first + self.num_rows, None]
        for begin in range(0, self.num_rows, ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            np.divide(integers[rows], scales[rows] if scales.ndim > 1 else scales, out=weights[rows])
        return weights


@dataclass(frozen=True, slots=True)
class WithZeroRow:
    """A table followed by a row of zeros."""

    table: "StoredTensor | QuantisedRows"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.table.shape[0] + 1, *self.table.shape[1:])

    def read(self) -> Floats:
        """Return the table, in float32."""
        rows = np.zeros(self.shape, np.float32)
        rows[:-1] = self.table.read()
        return rows


Table = StoredTensor | QuantisedRows


def take_rows(stored: StoredTensor, scales: StoredTensor | None, part: int, num_parts: int) -> Table:
    """Return one of several parts of a variable, which are joined on its first axis.

    Args:
        stored: the variable.
        scales: its scales; only quantised variables need them.
        part: number of the part; 0 is the first.
        num_parts: number of parts of the same size.

    Raises:
        TensorFileError: it is of another type, or its scales do not fit.
    """
    num_rows = stored.shape[0] // num_parts
    if stored.dtype in QUANTISED:
        return QuantisedRows(stored, _check_scales(stored, scales), part * num_rows, num_rows)
    if not stored.is_float:
        raise TensorFileError(f"is {stored.dtype}; weights are floats, int8 or int16")
    width = stored.num_elements // max(1, stored.shape[0])
    return replace(stored, shape=(num_rows, *stored.shape[1:]), first=part * num_rows * width)


def _check_scales(stored: StoredTensor, scales: StoredTensor | None) -> tuple[float, ...]:
    if scales is None:
        raise TensorFileError(f"is {stored.dtype}, but has no scales")
    if len(stored.shape) != 2:  # noqa: PLR2004 -- a matrix
        raise TensorFileError(f"is {stored.dtype} with {len(stored.shape)} axes; only matrices are supported")
    if not scales.is_float or scales.num_elements not in {1, stored.shape[0]}:
        raise TensorFileError(
            f"has {scales.num_elements} scales of type {scales.dtype}; "
            f"{stored.shape[0]} floats, one for each row, or one for all are needed"
        )
    numbers = scales.read().reshape(-1)
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise TensorFileError("has a scale that is not a number above 0")
    return tuple(numbers.tolist())
