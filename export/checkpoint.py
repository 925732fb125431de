"""A trained model on disk: weights, shape, tokenizers and training record.

checkpoint/
  model.safetensors   weights by their names in `Transformer`
  model.json          the `ModelConfig`
  source.spm          SentencePiece model; target.spm next to it if the vocabularies differ
  training.json       data, licences, steps, time, scores: for the model card
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from export.model import ModelConfig, Transformer

WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "model.json"
TRAINING_FILE = "training.json"
SOURCE_TOKENIZER_FILE = "source.spm"
TARGET_TOKENIZER_FILE = "target.spm"


class CheckpointError(ValueError):
    """A checkpoint folder is incomplete or unreadable; the message names the file and the problem."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in eval mode with its tokenizers and training record."""

    model: Transformer
    source_tokenizer: Path
    target_tokenizer: Path
    training: dict[str, Any]


def save_weights(folder: Path, model: Transformer, training: dict[str, Any]) -> None:
    """Write weights, shape and training record; the caller adds the tokenizers."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{WEIGHTS_FILE}.partial"
    save_file(untied_weights(model), str(partial))
    partial.replace(folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(json.dumps(dataclasses.asdict(model.config), indent=2), encoding="utf8")
    (folder / TRAINING_FILE).write_text(
        json.dumps(training, indent=2, ensure_ascii=False, default=str), encoding="utf8"
    )


def load_checkpoint(folder: Path) -> Checkpoint:
    """Open a checkpoint folder.

    Raises:
        CheckpointError: a file is missing or unreadable, or the weights do not fit the shape.
    """
    source, target = folder / SOURCE_TOKENIZER_FILE, folder / TARGET_TOKENIZER_FILE
    _require_files(folder / WEIGHTS_FILE, folder / CONFIG_FILE, source)
    config = _read_config(folder / CONFIG_FILE)
    if config.source_vocab_size != config.target_vocab_size:
        _require_files(target)
    model = Transformer(config)
    load_weights(model, _read_weights(folder / WEIGHTS_FILE), str(folder / WEIGHTS_FILE))
    record = folder / TRAINING_FILE
    return Checkpoint(
        model=model.eval(),
        source_tokenizer=source,
        target_tokenizer=target if target.exists() else source,
        training=_read_json(record) if record.exists() else {},
    )


def load_weights(model: Transformer, weights: dict[str, torch.Tensor], origin: str) -> None:
    """Load weights into the model, each exactly once.

    Raises:
        CheckpointError: a weight is missing, left over or of another shape.
    """
    expected = untied_weights(model)
    problems = [f"{name} is missing" for name in sorted(expected.keys() - weights.keys())]
    problems += [f"{name} is not a weight of this model" for name in sorted(weights.keys() - expected.keys())]
    problems += [
        f"{name} has shape {list(weights[name].shape)}, expected {list(expected[name].shape)}"
        for name in sorted(expected.keys() & weights.keys())
        if weights[name].shape != expected[name].shape
    ]
    if problems:
        raise CheckpointError(f"{origin}: " + "; ".join(problems))
    model.load_state_dict(weights, strict=False)


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


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(str(path))
    except SafetensorError as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return content


def untied_weights(model: Transformer) -> dict[str, torch.Tensor]:
    """Return the state dict with tied tables under one name only, as a checkpoint stores it."""
    state = model.state_dict()
    if model.config.shared_vocab:
        del state["target_embedding.weight"]
    return {name: tensor.contiguous() for name, tensor in state.items()}
