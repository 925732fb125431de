"""Reading a checkpoint folder without the model's own code."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, arange, cat, float32, float64, outer

from bench.peers.names import Shape, check_convertible


def read_checkpoint(folder: Path) -> tuple[Shape, dict[str, Tensor]]:
    """Read the model's shape and its weights by our names.

    Raises:
        ValueError: the other engines cannot run such a model.
    """
    shape: Shape = json.loads((folder / "model.json").read_text(encoding="utf8"))
    check_convertible(shape)
    return shape, load_file(str(folder / "model.safetensors"))


def position_table(shape: Shape) -> Tensor:
    """Compute sinusoidal position vectors (Vaswani et al. 2017, section 3.5), sines before cosines.

    Returns:
        float32 [max_positions, d].
    """
    half = shape["d_model"] // 2
    rates = 10_000.0 ** -(arange(half, dtype=float64) / half)
    angles = outer(arange(shape["max_positions"], dtype=float64), rates)
    return cat([angles.sin(), angles.cos()], dim=1).to(float32)
