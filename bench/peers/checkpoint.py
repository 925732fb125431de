"""Reads a checkpoint folder without the model's own code."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from bench.peers.names import Shape, check_convertible


def read_checkpoint(folder: Path) -> tuple[Shape, dict[str, Tensor]]:
    """The model's shape and its weights by our names.

    Raises:
        ValueError: the other engines cannot run such a model.
    """
    shape: Shape = json.loads((folder / "model.json").read_text(encoding="utf8"))
    check_convertible(shape)
    return shape, load_file(str(folder / "model.safetensors"))
