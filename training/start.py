"""Beginning a run with the weights of a finished one."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from export.checkpoint import CheckpointError, load_checkpoint, load_weights, untied_weights
from export.model import Transformer
from training.errors import ConfigError

FREE_FIELDS = frozenset({"dropout", "inner_dropout"})
"""A second run may choose these anew: they shape no weight."""


def start_weights(checkpoint: Path | None, model: Transformer) -> dict[str, Any] | None:
    """Fill the model from a checkpoint folder, if there is one; returns that checkpoint's training record.

    Raises:
        ConfigError: the folder is no checkpoint, or its model has another shape: every field is named.
    """
    if checkpoint is None:
        return None
    try:
        earlier = load_checkpoint(checkpoint)
    except (OSError, CheckpointError) as error:
        raise ConfigError(f"start_from: {error}") from error
    wanted, found = asdict(model.config), asdict(earlier.model.config)
    differing = [
        f"{name} is {found[name]} there and {wanted[name]} here"
        for name in wanted.keys() - FREE_FIELDS
        if wanted[name] != found[name]
    ]
    if differing:
        raise ConfigError(f"start_from {checkpoint}: {'; '.join(sorted(differing))}")
    load_weights(model, untied_weights(earlier.model), str(checkpoint))
    return earlier.training
