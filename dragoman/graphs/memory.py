"""Memory of K/V and the operations on it: in numpy arrays (here), or on a device (`device.py`).

Shapes: L key and value of each layer in turn, N capacity in rows or sources, H heads, T positions or source
tokens, D head size.
"""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding, OrtValue

from dragoman.contract import CacheDType

Shape = tuple[int, int, int, int, int]
"""L, N, H, T, D."""


class CacheMemory(Protocol):
    """K/V of all layers, [L, N, H, T, D].

    Methods that change them return the memory to use from then on: this one, or a replacement.
    """

    @property
    def shape(self) -> Shape: ...

    def resized(self, size: tuple[int, int], used: tuple[int, int]) -> Self:
        """Return a memory with N and T as in `size`; keep the `used` first of them, zero the rest."""
        ...

    def move(self, rows: NDArray[np.int64], positions: int) -> Self:
        """Let row i become row rows[i], at least its first `positions`."""
        ...

    def write(self, rows: NDArray[np.int64], source: Any, size: tuple[int, int], used: int) -> Self:
        """Return a memory with N and T as in `size`, and the rows of `source` written to `rows`.

        What is beyond S holds finite numbers, so that a mask hides it; what is beyond T is ignored.

        Args:
            rows: int64 [B * copies], ascending; rows to write to, adjacent ones for the copies of a row.
            source: [L, B, H, S, D], an array, or an `OrtValue` if it is on the device.
            size: N and T.
            used: number of rows in use; those that are not written stay.
        """
        ...

    def bind(
        self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int, row_shape: tuple[int, ...]
    ) -> object:
        """Bind each layer's first rows in onnxruntime.

        Args:
            binding: binding of a session's run.
            ports: for each of the L, the name of the input and of the output that overwrites it, or "" if
                there is none. Memory without an input is not bound.
            num_rows: the graph sees [num_rows, *row_shape].
            row_shape: H, T, D, or as many elements in another shape; always the same for one memory.

        Returns:
            An object to keep alive as long as the binding.
        """
        ...


class MemoryMaker(Protocol):
    """Creates memories of one kind."""

    def zeros(self, shape: Shape, dtype: CacheDType) -> CacheMemory: ...


class HostMemory:
    """A numpy array, which onnxruntime reads and writes in place; methods change it in place."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.shape: Shape = array.shape
        self._places = np.arange(self.shape[1])
        self._values: dict[int, list[OrtValue]] = {}  # of each layer, by number of rows

    def resized(self, size: tuple[int, int], used: tuple[int, int]) -> Self:
        layers, _, heads, _, head_size = self.shape
        array = np.zeros((layers, size[0], heads, size[1], head_size), self.array.dtype)
        kept = (slice(None), slice(used[0]), slice(None), slice(used[1]))
        array[kept] = self.array[kept]
        return type(self)(array)

    def move(self, rows: NDArray[np.int64], positions: int) -> Self:
        """Copy only the rows that change."""
        (moved,) = (rows != self._places[: len(rows)]).nonzero()
        if len(moved):
            self.array[:, moved, :, :positions] = self.array[:, rows[moved], :, :positions]
        return self

    def write(self, rows: NDArray[np.int64], source: Any, size: tuple[int, int], used: int) -> Self:
        _, capacity, _, positions, _ = self.shape
        memory = self
        if size != (capacity, positions):
            memory = self.resized(size, (used, min(positions, size[1])))
        width = min(size[1], source.shape[3])
        copies = len(rows) // source.shape[1]
        joining = source[:, :, :, :width]
        first, end = int(rows[0]), int(rows[-1]) + 1
        selected = slice(first, end) if end - first == len(rows) else rows  # a slice is written faster
        memory.array[:, selected, :, :width] = joining if copies == 1 else joining.repeat(copies, axis=1)
        memory.array[:, selected, :, width:] = 0  # masked, but the mask would not hide a NaN
        return memory

    def bind(
        self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int, row_shape: tuple[int, ...]
    ) -> object:
        values = self._values.get(num_rows)
        if values is None:  # creating them takes most of the time, and row counts repeat
            layers = [layer.reshape(num_rows, *row_shape) for layer in self.array[:, :num_rows]]
            values = self._values[num_rows] = [OrtValue.ortvalue_from_numpy(layer) for layer in layers]
        for (name, output), value in zip(ports, values, strict=True):
            if not name:
                continue
            binding.bind_ortvalue_input(name, value)
            if output:
                binding.bind_ortvalue_output(output, value)
        return values


class Host:
    """Creates memories of numpy arrays."""

    def zeros(self, shape: Shape, dtype: CacheDType) -> HostMemory:
        return HostMemory(np.zeros(shape, dtype))
