"""Where K/V lie, and what happens to them there: in numpy arrays (here), or on a device (`device.py`).

Shapes: L key and value of each layer in turn, N rows or sources that there is room for, H heads, T positions
or source tokens, D head size.
"""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding, OrtValue

from dragoman.contract import CacheDType

Shape = tuple[int, int, int, int, int]
"""L, N, H, T, D."""


class Memory(Protocol):
    """K/V of all layers, [L, N, H, T, D].

    What changes them returns the memory to go on with: this one, or another in its place.
    """

    @property
    def shape(self) -> Shape: ...

    def resized(self, size: tuple[int, int], used: tuple[int, int]) -> Self:
        """Another memory of N and T as in `size`, with the `used` first of them kept; zeros elsewhere."""
        ...

    def move(self, rows: NDArray[np.int64], positions: int) -> Self:
        """Row i becomes what row rows[i] was, at least as far as `positions`."""
        ...

    def write(self, first: int, source: Any, copies: int) -> Self:
        """Rows from `first` on become those of `source`, each `copies` times; zeros where it is narrower.

        Args:
            first: number of the rows in use, which stay.
            source: [L, B, H, S, D], an array, or where it lies on the device an `OrtValue`. What lies beyond
                T is left out.
            copies: of each row, side by side.
        """
        ...

    def bind(
        self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int, row_shape: tuple[int, ...]
    ) -> object:
        """Tell onnxruntime where each layer's first rows lie.

        Args:
            binding: of a session's run.
            ports: for each of the L, the input's name and that of the output which is written in its place;
                "" where there is none. What has no input is not bound.
            num_rows: [num_rows, *row_shape] is what the graph sees.
            row_shape: H, T, D, or as many elements in another shape; always the same for one memory.

        Returns:
            What must be kept for as long as the binding.
        """
        ...


class MemoryMaker(Protocol):
    """Makes memories of one kind."""

    def zeros(self, shape: Shape, dtype: CacheDType) -> Memory: ...


class HostMemory:
    """A numpy array. onnxruntime reads and writes it where it lies; all is done in place."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.shape: Shape = array.shape
        self._places = np.arange(self.shape[1])
        self._values: dict[int, list[OrtValue]] = {}  # of each layer, by rows

    def resized(self, size: tuple[int, int], used: tuple[int, int]) -> Self:
        layers, _, heads, _, head_size = self.shape
        array = np.zeros((layers, size[0], heads, size[1], head_size), self.array.dtype)
        kept = (slice(None), slice(used[0]), slice(None), slice(used[1]))
        array[kept] = self.array[kept]
        return type(self)(array)

    def move(self, rows: NDArray[np.int64], positions: int) -> Self:
        """Only what changes is copied."""
        (moved,) = (rows != self._places[: len(rows)]).nonzero()
        if len(moved):
            self.array[:, moved, :, :positions] = self.array[:, rows[moved], :, :positions]
        return self

    def write(self, first: int, source: Any, copies: int) -> Self:
        width = min(self.shape[3], source.shape[3])
        rows = slice(first, first + source.shape[1] * copies)
        joining = source[:, :, :, :width]
        self.array[:, rows, :, :width] = joining if copies == 1 else joining.repeat(copies, axis=1)
        self.array[:, rows, :, width:] = 0  # masked, but NaN left behind there would not be masked
        return self

    def bind(
        self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int, row_shape: tuple[int, ...]
    ) -> object:
        values = self._values.get(num_rows)
        if values is None:  # to make them takes most of the time, and the same number of rows comes again
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
    """Makes memories of numpy arrays."""

    def zeros(self, shape: Shape, dtype: CacheDType) -> HostMemory:
        return HostMemory(np.zeros(shape, dtype))
