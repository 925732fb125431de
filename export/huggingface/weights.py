"""Weights of a Hugging Face folder by their names there, from any of its file formats.

No code in a file is run. Tensors stay in their files until they are used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from export.huggingface.files import read_object
from export.original import ImportRejectedError
from export.tensors.pytorch_file import read_pytorch
from export.tensors.safetensors_file import read_safetensors
from export.tensors.tensor import StoredTensor, TensorFileError

MAX_NAMED = 12
"""Number of tensors that an error names; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors by their names in the file."""

    file: str
    """Name of the file, or of the index of several files."""
    tensors: Mapping[str, StoredTensor]

    @property
    def dtype(self) -> str:
        """Dtype of the largest tensor, by PyTorch's name."""
        return max(self.tensors.values(), key=lambda tensor: tensor.num_elements).dtype


def read_weights(folder: Path) -> Weights:
    """Open the weights, in the order of preference of `transformers`.

    Raises:
        ImportRejectedError: there are none, a file is damaged or would run code, or an index names a file
            outside the folder or lists missing tensors.
    """
    for name, read in (("model.safetensors", read_safetensors), ("pytorch_model.bin", read_pytorch)):
        for file, read_all in ((name, _read_one), (f"{name}.index.json", _read_shards)):
            if (folder / file).is_file():
                tensors = read_all(folder, file, read)
                return Weights(file, tensors)
    raise ImportRejectedError(
        str(folder), ("no model.safetensors or pytorch_model.bin found, nor an index of either",)
    )


_Reader = Callable[[Path], dict[str, StoredTensor]]


def _read_one(folder: Path, file: str, read: _Reader) -> dict[str, StoredTensor]:
    try:
        return read(folder / file)
    except TensorFileError as error:
        raise ImportRejectedError(str(folder), (str(error),)) from error


def _read_shards(folder: Path, index: str, read: _Reader) -> dict[str, StoredTensor]:
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
    tensors: dict[str, StoredTensor] = {}
    for shard in shards:
        part = _read_one(folder, shard, read)
        problems += [f"{name} is in {shard} and in an earlier file" for name in part if name in tensors]
        tensors.update(part)
    missing = sorted(files_by_name.keys() - tensors.keys())
    problems += [f"{index} lists {name}, which is missing in {files_by_name[name]}" for name in missing]
    if problems:
        raise ImportRejectedError(str(folder), tuple(limit_problems(problems)))
    return tensors


def limit_problems(problems: list[str]) -> list[str]:
    """Return a few problems as they are; of many the first ones, and how many more there are."""
    if len(problems) <= MAX_NAMED:
        return problems
    return [*problems[:MAX_NAMED], f"and {len(problems) - MAX_NAMED} more problems of this kind"]
