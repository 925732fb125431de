"""Weights of a Hugging Face folder by their names there, from any of its file formats.

No code in a file is run: safetensors has none, and PyTorch's own files are read with `weights_only`. Tensors
stay in their files (memory maps) until the model reads them; those in half precision then become float32.
"""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from export.huggingface.files import read_object
from export.original import ImportRejectedError

MAX_NAMED = 12
"""Number of tensors that an error names; further ones are only counted."""

_ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors by their names in the file."""

    file: str
    """Name of the file, or of the index of several files."""
    tensors: Mapping[str, Tensor]

    @property
    def dtype(self) -> str:
        """Dtype of the largest tensor, by PyTorch's name."""
        largest = max(self.tensors.values(), key=Tensor.numel)
        return str(largest.dtype).removeprefix("torch.")


def read_weights(folder: Path) -> Weights:
    """Open the weights, in the order of preference of `transformers`.

    Raises:
        ImportRejectedError: there are none, a file is damaged or would run code, or an index names a file
            outside the folder or lists missing tensors.
    """
    for name, read in (("model.safetensors", _read_safetensors), ("pytorch_model.bin", _read_pytorch)):
        for file, read_all in ((name, _read_one), (f"{name}.index.json", _read_shards)):
            if (folder / file).is_file():
                tensors = read_all(folder, file, read)
                return Weights(file, tensors)
    raise ImportRejectedError(
        str(folder), ("no model.safetensors or pytorch_model.bin found, nor an index of either",)
    )


_Reader = Callable[[Path], dict[str, Tensor]]


def _read_one(folder: Path, file: str, read: _Reader) -> dict[str, Tensor]:
    return read(folder / file)


def _read_shards(folder: Path, index: str, read: _Reader) -> dict[str, Tensor]:
    problems: list[str] = []
    files_by_name = read_object(folder / index, problems).get("weight_map")
    if (
        not isinstance(files_by_name, dict)
        or not files_by_name
        or not all(isinstance(f, str) for f in files_by_name.values())
    ):
        raise ImportRejectedError(str(folder), (*problems, f"{index} has no weight_map from names to files"))
    shards = sorted(set(files_by_name.values()))
    problems += [
        f"{index} names {shard!r}, which is not a file in this folder"
        for shard in shards
        if PurePath(shard).name != shard or not (folder / shard).is_file()
    ]
    if problems:
        raise ImportRejectedError(str(folder), tuple(problems))
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        part = read(folder / shard)
        problems += [f"{name} is in {shard} and in an earlier file" for name in part if name in tensors]
        tensors.update(part)
    missing = sorted(files_by_name.keys() - tensors.keys())
    problems += [f"{index} lists {name}, which is missing in {files_by_name[name]}" for name in missing]
    if problems:
        raise ImportRejectedError(str(folder), tuple(limit_problems(problems)))
    return tensors


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(str(path))
    except (SafetensorError, OSError) as error:
        raise ImportRejectedError(
            str(path.parent), (f"{path.name} is not a readable safetensors file: {error}",)
        ) from error


def _read_pytorch(path: Path) -> dict[str, Tensor]:
    with path.open("rb") as file:
        can_map = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC  # older files are not zip: they cannot be mapped
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=can_map)
    except pickle.UnpicklingError as error:
        problem = f"{path.name} is damaged or has more than tensors; it was not run: {_first_line(error)}"
        raise ImportRejectedError(str(path.parent), (problem,)) from error
    except Exception as error:
        problem = f"{path.name} is not a readable PyTorch file: {_first_line(error)}"
        raise ImportRejectedError(str(path.parent), (problem,)) from error
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in content.items()
    ):
        raise ImportRejectedError(str(path.parent), (f"{path.name} is not a mapping from names to tensors",))
    return content


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def limit_problems(problems: list[str]) -> list[str]:
    """Return a few problems as they are; of many the first ones, and how many more there are."""
    if len(problems) <= MAX_NAMED:
        return problems
    return [*problems[:MAX_NAMED], f"and {len(problems) - MAX_NAMED} more problems of this kind"]
