"""Tensors of a file that `torch.save` wrote, read without PyTorch and without running anything in it.

The file is a pickle of a mapping from names to tensors, and the storages that they view. Releases from 1.6
write a .zip with both, older ones write them one after the other.
"""

import collections
import pickle
import pickletools
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from export.tensors.tensor import NUMPY_TYPES, StoredTensor, TensorFileError

MAGIC_NUMBER, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
"""Beginning of a file of older releases."""
MAX_PICKLE_BYTES = 64 * 2**20
"""Maximum size of names and shapes; those of the largest models take less than a megabyte."""
MEMO_PARTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
"""Parts of a pickle that number another one, from 0 or 1."""
LOCAL_HEADER_BYTES, NAME_LENGTH_AT, EXTRA_LENGTH_AT = 30, 26, 28
"""Layout of a member's header in a .zip."""
COUNT_BYTES = 8
"""An older file has the number of elements before each storage."""
STORAGE_TYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


@dataclass(frozen=True, slots=True)
class _StorageView:
    """A storage as the pickle names it."""

    key: str
    dtype: str
    num_elements: int


@dataclass(frozen=True, slots=True)
class _TensorView:
    """A tensor as the pickle describes it."""

    storage: _StorageView
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RebuildTensor:
    """Makes a tensor for a pickle. It has no attributes, because a pickle could set them."""

    __slots__ = ()

    def __call__(
        self, storage: object, first: int, shape: Iterable[int], strides: Iterable[int], *_: object
    ) -> _TensorView:
        if not isinstance(storage, _StorageView):
            raise pickle.UnpicklingError("a tensor has no storage")
        return _TensorView(storage, first, tuple(shape), tuple(strides))


class _RebuildParameter:
    """The same for a parameter, which is a tensor and more."""

    __slots__ = ()

    def __call__(self, tensor: object, *_: object) -> object:
        return tensor


def read_pytorch(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors by name.

    Raises:
        TensorFileError: it is damaged, compressed, or has anything but named tensors.
    """
    try:
        views, extents = _read_zip(path) if zipfile.is_zipfile(path) else _read_older(path)
        return {name: _locate(path, view, extents) for name, view in views.items()}
    except TensorFileError as error:
        raise TensorFileError(f"{path.name} {error}") from error
    except pickle.UnpicklingError as error:
        problem = f"{path.name} is damaged or has more than tensors; it was not run: {error}"
        raise TensorFileError(problem) from error
    except Exception as error:  # a damaged pickle can raise almost any
        raise TensorFileError(f"{path.name} is not a readable PyTorch file: {error}") from error


def _locate(path: Path, view: _TensorView, extents: Mapping[str, tuple[int, int]]) -> StoredTensor:
    offset_bytes, size_bytes = extents[view.storage.key]
    tensor = StoredTensor(
        path, view.storage.dtype, offset_bytes, size_bytes, view.shape, view.strides, view.first
    )
    if offset_bytes + size_bytes > path.stat().st_size:
        raise TensorFileError("is truncated")
    return tensor


def _read_zip(path: Path) -> tuple[dict[str, _TensorView], dict[str, tuple[int, int]]]:
    """Return the tensors, and the offset and size of each storage in bytes."""
    with zipfile.ZipFile(path) as members, path.open("rb") as file:
        infos = {info.filename: info for info in members.infolist()}
        (content,) = (name for name in infos if name.rpartition("/")[2] == "data.pkl")
        root = content.removesuffix("data.pkl")
        byte_order = f"{root}byteorder"
        if byte_order in infos and members.read(byte_order) != b"little":
            raise TensorFileError("is not little-endian, which is not supported")
        with members.open(content) as pickled:
            views = _named_tensors(_load(pickled))
        extents = {}
        for key in {view.storage.key for view in views.values()}:
            info = infos[f"{root}data/{key}"]
            if info.compress_type != zipfile.ZIP_STORED:
                raise TensorFileError("is compressed, which is not supported")
            file.seek(info.header_offset)
            header = file.read(LOCAL_HEADER_BYTES)
            lengths = (header[at : at + 2] for at in (NAME_LENGTH_AT, EXTRA_LENGTH_AT))
            skipped_bytes = sum(int.from_bytes(length, "little") for length in lengths)
            extents[key] = (info.header_offset + LOCAL_HEADER_BYTES + skipped_bytes, info.file_size)
    return views, extents


def _read_older(path: Path) -> tuple[dict[str, _TensorView], dict[str, tuple[int, int]]]:
    """Return the same for a file of a release before 1.6."""
    with path.open("rb") as file:
        if (_load(file), _load(file)) != (MAGIC_NUMBER, PROTOCOL):
            raise TensorFileError("is not a file of torch.save")
        if not _load(file)["little_endian"]:
            raise TensorFileError("is not little-endian, which is not supported")
        views = _named_tensors(_load(file))
        storages = {view.storage.key: view.storage for view in views.values()}
        extents = {}
        for key in _load(file):
            count = int.from_bytes(file.read(COUNT_BYTES), "little")
            if key not in storages or count != storages[key].num_elements:
                raise TensorFileError(f"has storage {key!r}, which does not belong to a tensor")
            size_bytes = count * np.dtype(NUMPY_TYPES[storages[key].dtype]).itemsize
            extents[key] = (file.tell(), size_bytes)
            file.seek(size_bytes, 1)
    return views, extents


def _load(pickled: IO[bytes]) -> Any:
    """Return what a pickle has. Its parts are read first: unpickling allocates a table up to any index."""
    start = pickled.tell()
    for num_parts, (part, value, at) in enumerate(pickletools.genops(pickled), 1):
        if (at or 0) - start > MAX_PICKLE_BYTES:
            raise TensorFileError(f"has names and shapes of more than {MAX_PICKLE_BYTES} bytes")
        if part.name in MEMO_PARTS and (value or 0) > num_parts:
            raise pickle.UnpicklingError(f"its part {num_parts} has the index {value}")
    pickled.seek(start)
    return _Unpickler(pickled).load()


def _named_tensors(content: object) -> dict[str, _TensorView]:
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and isinstance(view, _TensorView) for name, view in content.items()
    ):
        raise TensorFileError("is not a mapping from names to tensors")
    return content


class _Unpickler(pickle.Unpickler):
    """Reads tensors as `_TensorView`. Every other name is rejected."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a tensor")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> _StorageView:
        """Return a storage: kind, type, key, device, number of elements, and in older files a view."""
        kind, dtype, key, _, num_elements, *view = pid
        is_known = kind == "storage" and isinstance(key, str) and dtype in NUMPY_TYPES
        if not is_known or view not in ([], [None]):
            raise pickle.UnpicklingError(f"{pid!r} is not a storage")
        return _StorageView(key, dtype, num_elements)


_KNOWN: Mapping[tuple[str, str], object] = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _RebuildTensor(),
    ("torch._utils", "_rebuild_tensor_v2"): _RebuildTensor(),
    ("torch._utils", "_rebuild_parameter"): _RebuildParameter(),
    **{("torch", name): dtype for name, dtype in STORAGE_TYPES.items()},
}
