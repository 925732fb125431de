"""Initial weights of a run: those of a finished run, or those of a model with another vocabulary."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from export.checkpoint import load_checkpoint, load_weights, untied_weights
from export.checkpoint_folder import TRAINING_FILE, Checkpoint, CheckpointError
from export.model import TranslationModel
from training.config import TrainingConfig
from training.errors import ConfigError

CHANGEABLE_FIELDS = frozenset({"dropout", "inner_dropout"})
"""Fields that a second run may change: they do not affect the shape of any weight."""
START_FILE = "started-from.json"
"""File in a run's data folder: a copy of the initial checkpoint's record, since that may be replaced."""


def write_start_record(config: TrainingConfig) -> None:
    """Write the record of a run's initial checkpoint into the run's data folder."""
    path = None if config.start_from is None else config.start_from / TRAINING_FILE
    record = path.read_bytes() if path is not None and path.is_file() else b"{}"
    (config.run_dir / "data" / START_FILE).write_bytes(record)


def start_record(config: TrainingConfig) -> dict[str, Any]:
    """Return the record of a run's initial checkpoint; empty if there is none."""
    path = config.run_dir / "data" / START_FILE
    record: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return record


def data_seed(config: TrainingConfig) -> int:
    """Return the seed of all draws from the corpora; a run that continues another one draws differently."""
    return config.optimisation.seed + int(start_record(config).get("pairs_seen", 0))


def load_start_weights(checkpoint: Path | None, model: TranslationModel) -> dict[str, Any] | None:
    """Load a checkpoint, if there is one, into the model; return the checkpoint's training record.

    Raises:
        ConfigError: the folder is no checkpoint, or its model has another shape; the message names every
            differing field.
    """
    if checkpoint is None:
        return None
    earlier = _load(checkpoint)
    _check_same_shape(checkpoint, earlier, model, CHANGEABLE_FIELDS)
    load_weights(model, untied_weights(earlier.model), str(checkpoint))
    return earlier.training


def load_with_new_vocabulary(
    checkpoint: Path, model: TranslationModel, processor: sentencepiece.SentencePieceProcessor
) -> dict[str, Any]:
    """Load a checkpoint into a model with another vocabulary; return the checkpoint's training record.

    Each piece gets the mean vector and mean bias of the checkpoint's pieces that spell it. Pieces that no
    text can spell, such as new controls, get the mean vector and the lowest bias of the whole table.

    Args:
        checkpoint: checkpoint folder with one table for source, target and output.
        model: model of the same shape except for the vocabulary.
        processor: tokenizer of the model.

    Raises:
        ConfigError: the folder is no checkpoint, or its model has another shape.
    """
    earlier = _load(checkpoint)
    vocabulary_fields = {"source_vocab_size", "target_vocab_size"}
    _check_same_shape(checkpoint, earlier, model, CHANGEABLE_FIELDS | vocabulary_fields)
    if not (model.config.shared_vocab and model.config.tied_output):
        raise ConfigError(f"{checkpoint}: another vocabulary needs one table for source, target and output")
    old = sentencepiece.SentencePieceProcessor(model_file=str(earlier.source_tokenizer))
    table = earlier.model.source_embedding.weight.detach()
    bias = earlier.model.output_bias.detach()
    spellings = [_spelling(old, processor.id_to_piece(piece)) for piece in range(processor.vocab_size())]
    moved = {
        "source_embedding.weight": torch.stack(
            [table[ids].mean(dim=0) if ids else table.mean(dim=0) for ids in spellings]
        ),
        "output_bias": torch.stack([bias[ids].mean() if ids else bias.min() for ids in spellings]),
    }
    load_weights(model, untied_weights(earlier.model) | moved, str(checkpoint))
    return earlier.training


def _load(checkpoint: Path) -> Checkpoint[TranslationModel]:
    try:
        return load_checkpoint(checkpoint)
    except (OSError, CheckpointError) as error:
        raise ConfigError(f"start_from: {error}") from error


def _check_same_shape(
    folder: Path, earlier: Checkpoint[TranslationModel], model: TranslationModel, free_fields: frozenset[str]
) -> None:
    expected, found = asdict(model.config), asdict(earlier.model.config)
    differing = [
        f"{name} is {found[name]} there and {expected[name]} here"
        for name in expected.keys() - free_fields
        if expected[name] != found[name]
    ]
    if differing:
        raise ConfigError(f"start_from {folder}: {'; '.join(sorted(differing))}")


def _spelling(old: sentencepiece.SentencePieceProcessor, piece: str) -> list[int]:
    """Return the ids of old pieces that spell a new one, which may be inside a word; empty for a control."""
    known = old.piece_to_id(piece)
    if known != old.unk_id() or piece == old.id_to_piece(old.unk_id()):
        return [known]
    if piece.startswith("<") and piece.endswith(">"):
        return []
    ids: list[int] = old.encode(piece.replace("▁", " ").strip())
    begins_inside = bool(ids) and not piece.startswith("▁") and old.id_to_piece(ids[0]) == "▁"
    return ids[1:] if begins_inside else ids
