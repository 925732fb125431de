"""Index of Marian's binary model file: names, types, shapes and offsets of its items.

All numbers are little-endian (marian-dev, src/common/binary.cpp). After version and number of items, 8 bytes
each, come for each item the length of its name, its type, its number of axes and the size of its content, 8
bytes each; then all names with a final zero byte; all shapes, 4 bytes a size; a number of bytes to skip, and
these; then all contents. A content may be followed by zeros up to a multiple of 256 bytes, which its size
includes.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.tensors.bounded_reader import BoundedReader
from export.tensors.tensor import TensorFileError

VERSION = 1
MAX_ITEMS = 2**16
"""Maximum number of items; a layer has about 40."""
MAX_NAME_BYTES = 512
MAX_AXES = 4
MAX_PADDING_BYTES = 255
"""Maximum number of bytes between the index and the contents, and after each content."""
INTGEMM8 = "intgemm8"
"""8-bit integers, followed by the float32 that each weight was multiplied with before it was rounded."""
NUMPY_TYPES: Mapping[str, str] = {"int8": "<i1", "float32": "<f4", "float16": "<f2", INTGEMM8: "<i1"}
"""Types of items that are read, and the NumPy types of their elements."""
_TYPES: Mapping[int, str] = {
    0x0101: "int8",
    0x0102: "int16",
    0x0104: "int32",
    0x0108: "int64",
    0x0201: "uint8",
    0x0202: "uint16",
    0x0204: "uint32",
    0x0208: "uint64",
    0x0402: "float16",
    0x0404: "float32",
    0x0408: "float64",
    0x0802: "packed16",
    0x1801: "packed8avx2",
    0x2801: "packed8avx512",
    0x4101: INTGEMM8,
    0x4102: "intgemm16",
}
"""Names of Marian's types (src/common/types.h)."""
_MULTIPLIER = struct.Struct("<f")


@dataclass(frozen=True, slots=True)
class BinaryItem:
    """An item of a file. Its content is read on request and never kept."""

    path: Path
    name: str
    dtype: str
    """Name of the type, one of `NUMPY_TYPES`."""
    shape: tuple[int, ...]
    offset_bytes: int
    """Offset of its content in the file."""

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)

    def read(self) -> NDArray[Any]:
        """Return the elements as stored, mapped into memory."""
        return np.memmap(self.path, NUMPY_TYPES[self.dtype], "r", self.offset_bytes, self.shape)

    def read_multiplier(self) -> float:
        """Return the number that weights of type `INTGEMM8` were multiplied with.

        Raises:
            TensorFileError: it is not a number above 0.
        """
        with self.path.open("rb") as file:
            file.seek(self.offset_bytes + self.num_elements)
            (multiplier,) = _MULTIPLIER.unpack(file.read(_MULTIPLIER.size))
        if not (math.isfinite(multiplier) and multiplier > 0):
            raise TensorFileError(
                f"{self.path.name}: {self.name} has the multiplier {multiplier}, not a number above 0"
            )
        return float(multiplier)


@dataclass(frozen=True, slots=True)
class _Header:
    """Description of an item at the beginning of a file."""

    name_bytes: int
    type_number: int
    num_axes: int
    size_bytes: int


def has_binary_model(path: Path) -> bool:
    """Return whether a file begins like one of Marian's binary models."""
    try:
        with path.open("rb") as file:
            return file.read(8) == VERSION.to_bytes(8, "little")
    except OSError:
        return False


def read_items(path: Path) -> dict[str, BinaryItem]:
    """Read the index of a file. Contents are not read; every number is checked against the file's size first.

    Raises:
        TensorFileError: the file is damaged, or has items of a type that is not supported.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        reader = _Reader(file, path.name)
        (version,) = reader.numbers("Q", 1, "the version")
        if version != VERSION:
            raise TensorFileError(f"{path.name}: version {version} is not supported, only {VERSION} is")
        (count,) = reader.numbers("Q", 1, "the number of items")
        if count > MAX_ITEMS:
            raise TensorFileError(f"{path.name}: has {count} items; the limit is {MAX_ITEMS}")
        fields = reader.numbers("Q", 4 * count, "the headers of the items")
        headers = [_Header(*fields[first : first + 4]) for first in range(0, 4 * count, 4)]
        names = [reader.name(header.name_bytes, index) for index, header in enumerate(headers)]
        shapes = [reader.shape(header.num_axes, name) for header, name in zip(headers, names, strict=True)]
        (skipped,) = reader.numbers("Q", 1, "the bytes before the contents")
        if skipped > MAX_PADDING_BYTES:
            raise TensorFileError(
                f"{path.name}: skips {skipped} bytes before the contents; the limit is {MAX_PADDING_BYTES}"
            )
        reader.skip(skipped, "the bytes before the contents")
        items: dict[str, BinaryItem] = {}
        for header, name, shape in zip(headers, names, shapes, strict=True):
            if name in items:
                raise TensorFileError(f"{path.name}: {name} occurs twice")
            items[name] = _item(reader, path, header, name, shape)
        reader.check_end("the last item")
    return items


def _item(reader: "_Reader", path: Path, header: _Header, name: str, shape: tuple[int, ...]) -> BinaryItem:
    dtype = _TYPES.get(header.type_number, f"of unknown type {header.type_number:#06x}")
    if dtype not in NUMPY_TYPES:
        raise TensorFileError(f"{path.name}: {name} is {dtype}; supported are {', '.join(NUMPY_TYPES)}")
    needed_bytes = math.prod(shape) * np.dtype(NUMPY_TYPES[dtype]).itemsize
    needed_bytes += _MULTIPLIER.size if dtype == INTGEMM8 else 0
    if not 0 <= header.size_bytes - needed_bytes <= MAX_PADDING_BYTES:
        raise TensorFileError(
            f"{path.name}: {name} declares {header.size_bytes} bytes, but {dtype} {list(shape)} needs"
            f" {needed_bytes}, and at most {MAX_PADDING_BYTES} more"
        )
    return BinaryItem(path, name, dtype, shape, reader.skip(header.size_bytes, f"the content of {name}"))


class _Reader(BoundedReader):
    """Reads the parts of an index."""

    def name(self, size_bytes: int, index: int) -> str:
        what = f"the name of item {index}"
        if not 1 < size_bytes <= MAX_NAME_BYTES:
            raise TensorFileError(
                f"{self.file_name}: {what} has {size_bytes} bytes, not between 2 and {MAX_NAME_BYTES}"
            )
        encoded = self.take(size_bytes, what)
        try:
            name = encoded[:-1].decode()
        except UnicodeDecodeError as error:
            raise TensorFileError(f"{self.file_name}: {what} is not UTF-8: {error}") from error
        if encoded[-1] or not name.isprintable():
            raise TensorFileError(
                f"{self.file_name}: {what}, {encoded!r}, is not a text with a final zero byte"
            )
        return name

    def shape(self, num_axes: int, name: str) -> tuple[int, ...]:
        if num_axes > MAX_AXES:
            raise TensorFileError(f"{self.file_name}: {name} has {num_axes} axes; the limit is {MAX_AXES}")
        shape = self.numbers("i", num_axes, f"the shape of {name}")
        if min(shape, default=1) < 1:
            raise TensorFileError(f"{self.file_name}: {name} has shape {list(shape)}; sizes must be above 0")
        return shape
