"""A trained model in PyTorch, written to its folder and read from it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from export.checkpoint_folder import (
    CONFIG_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    Checkpoint,
    check_shapes,
    read_checkpoint,
)
from export.model import TranslationModel, model_class


def save_weights(folder: Path, model: TranslationModel, training: dict[str, Any]) -> None:
    """Write weights, shape and training record; the caller adds the tokenizers."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{WEIGHTS_FILE}.partial"
    save_file(untied_weights(model), str(partial))
    partial.replace(folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(json.dumps(dataclasses.asdict(model.config), indent=2), encoding="utf8")
    (folder / TRAINING_FILE).write_text(
        json.dumps(training, indent=2, ensure_ascii=False, default=str), encoding="utf8"
    )


def load_checkpoint(folder: Path) -> Checkpoint[TranslationModel]:
    """Open a checkpoint folder; its model is in eval mode.

    Raises:
        CheckpointError: a file is missing or unreadable, or the weights do not fit the shape.
    """
    stored = read_checkpoint(folder)
    model = model_class(stored.model.config).from_weights(stored.model)
    return Checkpoint(model, stored.source_tokenizer, stored.target_tokenizer, stored.training)


def load_weights(model: TranslationModel, weights: dict[str, torch.Tensor], origin: str) -> None:
    """Load weights into the model, each exactly once.

    Raises:
        CheckpointError: a weight is missing, left over or of another shape.
    """
    check_shapes(model.config, {name: tuple(tensor.shape) for name, tensor in weights.items()}, origin)
    model.load_state_dict(weights, strict=False)


def untied_weights(model: TranslationModel) -> dict[str, torch.Tensor]:
    """Return the state dict with tied tables under one name only, as a checkpoint stores it."""
    state = model.state_dict()
    if model.config.shared_vocab:
        del state["target_embedding.weight"]
    return {name: tensor.contiguous() for name, tensor in state.items()}
