"""Tensors of a .safetensors file. Its header is JSON with types, shapes and offsets."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

from export.tensors.tensor import StoredTensor, TensorFileError

LENGTH_BYTES = 8
"""The file begins with the length of its header, little-endian."""
TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors by name.

    Raises:
        TensorFileError: it is not a readable safetensors file.
    """
    try:
        with safe_open(str(path), framework="numpy"), path.open("rb") as file:  # it checks offsets and sizes
            length_bytes = int.from_bytes(file.read(LENGTH_BYTES), "little")
            header = json.loads(file.read(length_bytes))
    except (SafetensorError, OSError) as error:
        raise TensorFileError(f"{path.name} is not a readable safetensors file: {error}") from error
    header.pop("__metadata__", None)
    data = LENGTH_BYTES + length_bytes
    return {
        name: StoredTensor(
            path,
            TYPES.get(entry["dtype"], entry["dtype"]),
            data + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
            tuple(entry["shape"]),
        )
        for name, entry in header.items()
    }
