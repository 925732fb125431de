"""Folder of a trained model: weights, shape, tokenizers and training record.

checkpoint/
  model.safetensors   weights by their names in `ModelWeights`
  model.json          the `ModelConfig`
  source.spm          SentencePiece model; target.spm next to it if the vocabularies differ
  training.json       data, licences, steps, time, scores: for the model card
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from export.model_config import ModelConfig
from export.model_weights import ModelWeights, weight_shapes
from export.tensors.safetensors_file import read_safetensors
from export.tensors.tensor import StoredWeights, TensorFileError

WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "model.json"
TRAINING_FILE = "training.json"
SOURCE_TOKENIZER_FILE = "source.spm"
TARGET_TOKENIZER_FILE = "target.spm"


class CheckpointError(ValueError):
    """A checkpoint folder is incomplete or unreadable; the message names the file and the problem."""


Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class Checkpoint(Generic[Model]):
    """A model, as its weights or in PyTorch, with its tokenizers and training record."""

    model: Model
    source_tokenizer: Path
    target_tokenizer: Path
    training: dict[str, Any]


def read_checkpoint(folder: Path) -> Checkpoint[ModelWeights]:
    """Open a checkpoint folder.

    Raises:
        CheckpointError: a file is missing or unreadable, or the weights do not fit the shape.
    """
    path, source, target = (
        folder / name for name in (WEIGHTS_FILE, SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE)
    )
    _require_files(path, folder / CONFIG_FILE, source)
    config = _read_config(folder / CONFIG_FILE)
    if config.source_vocab_size != config.target_vocab_size:
        _require_files(target)
    try:
        tensors = read_safetensors(path)
    except TensorFileError as error:
        raise CheckpointError(str(path.parent / str(error))) from error
    check_shapes(config, {name: tensor.shape for name, tensor in tensors.items()}, str(path))
    record = folder / TRAINING_FILE
    return Checkpoint(
        model=ModelWeights(config, StoredWeights(tensors)),
        source_tokenizer=source,
        target_tokenizer=target if target.exists() else source,
        training=_read_json(record) if record.exists() else {},
    )


def check_shapes(config: ModelConfig, shapes: Mapping[str, tuple[int, ...]], origin: str) -> None:
    """Check that the weights are those of the shape.

    Raises:
        CheckpointError: a weight is missing, left over or of another shape.
    """
    expected = weight_shapes(config)
    problems = [f"{name} is missing" for name in sorted(expected.keys() - shapes.keys())]
    problems += [f"{name} is not a weight of this model" for name in sorted(shapes.keys() - expected.keys())]
    problems += [
        f"{name} has shape {list(shapes[name])}, expected {list(expected[name])}"
        for name in sorted(expected.keys() & shapes.keys())
        if shapes[name] != expected[name]
    ]
    if problems:
        raise CheckpointError(f"{origin}: " + "; ".join(problems))


def _require_files(*paths: Path) -> None:
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise CheckpointError(f"not a checkpoint folder: {', '.join(missing)} not found")


def _read_config(path: Path) -> ModelConfig:
    fields = _read_json(path)
    known = {field.name for field in dataclasses.fields(ModelConfig)}
    if unknown := sorted(fields.keys() - known):
        raise CheckpointError(f"{path}: {', '.join(unknown)} is not supported by this release")
    try:
        return ModelConfig(**fields)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return content
