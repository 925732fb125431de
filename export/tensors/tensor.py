"""A tensor in a file: where it is, and how it becomes float32."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

NUMPY_TYPES: Mapping[str, str] = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",  # NumPy has no bfloat16: its bits are the upper half of a float32's
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "<i1",
    "uint8": "<u1",
    "bool": "?",
}
"""Types of elements by PyTorch's names, and the NumPy types that read their bytes."""
FLOATS = frozenset({"float32", "float16", "bfloat16"})
"""Types that weights may have."""


class TensorFileError(ValueError):
    """A file of tensors is damaged or has something else than tensors; the message names the problem."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file. Its bytes are read on request and never kept.

    Raises:
        TensorFileError: on construction, if the tensor has an unknown type or does not fit its bytes.
    """

    path: Path
    dtype: str
    """PyTorch's name of the type."""
    offset_bytes: int
    """Offset of the first byte of the storage in the file."""
    size_bytes: int
    """Bytes of the storage."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    """Distance between neighbours on each axis, in elements; empty: row by row."""
    first: int = 0
    """Element of the storage with which the tensor begins."""

    def __post_init__(self) -> None:
        if self.dtype not in NUMPY_TYPES:
            raise TensorFileError(f"elements of type {self.dtype} are not supported")
        strides = self._strides
        is_whole = all(type(value) is int and value >= 0 for value in (*self.shape, *strides, self.first))
        if not is_whole or len(strides) != len(self.shape):
            raise TensorFileError(f"shape {self.shape} with strides {strides} is not valid")
        reach = self.first + sum((size - 1) * step for size, step in zip(self.shape, strides, strict=True))
        if self.num_elements and (reach + 1) * self._type.itemsize > self.size_bytes:
            raise TensorFileError(f"shape {self.shape} exceeds its storage of {self.size_bytes} bytes")
        if self.num_elements * self._type.itemsize > self.size_bytes:
            raise TensorFileError(f"elements of shape {self.shape} share memory, which is not supported")

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def read(self) -> NDArray[np.float32]:
        """Return the tensor, contiguous. One in float32 stays in the file, mapped into memory.

        Raises:
            TensorFileError: its type is not one of `FLOATS`.
        """
        if not self.is_float:
            raise TensorFileError(f"elements of type {self.dtype} are not weights")
        if not self.num_elements:
            return np.zeros(self.shape, np.float32)
        # Private pages: nothing can change the file.
        count = self.size_bytes // self._type.itemsize
        storage = np.memmap(self.path, self._type, "c", self.offset_bytes, (count,))
        steps = tuple(step * self._type.itemsize for step in self._strides)
        array: NDArray[Any] = as_strided(np.asarray(storage)[self.first :], self.shape, steps)
        if self.dtype == "bfloat16":
            return (array.astype(np.uint32) << 16).view(np.float32)
        return np.require(array, np.float32, ("C_CONTIGUOUS", "ALIGNED"))  # some files do not align tensors

    @property
    def _type(self) -> np.dtype[Any]:
        return np.dtype(NUMPY_TYPES[self.dtype])

    @property
    def _strides(self) -> tuple[int, ...]:
        if self.strides or not self.shape:
            return self.strides
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))


class ReadableTensor(Protocol):
    """A tensor that is read from a file on request."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def read(self) -> NDArray[np.float32]: ...


class StoredWeights(Mapping[str, NDArray[np.float32]]):
    """Weights by name, some of them in files: these are read at each look-up."""

    def __init__(self, tensors: Mapping[str, ReadableTensor | NDArray[np.float32]]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        tensor = self._tensors[name]
        return tensor if isinstance(tensor, np.ndarray) else tensor.read()

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def with_changes(self, changed: Mapping[str, NDArray[np.float32]]) -> "StoredWeights":
        """Return weights of which some are others; the rest stays where it is."""
        return StoredWeights({**self._tensors, **changed})
