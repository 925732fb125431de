"""Check of free disk space before a bundle is written."""

import math
import shutil
from pathlib import Path

from export.bundle import ExportError
from export.model_config import ModelConfig
from export.model_weights import SOURCE_TABLE, weight_shapes

BYTES_OF_WEIGHT = {"fp32": 4, "fp16": 2, "int8": 1}
"""Bytes of a weight, at most."""
OTHERS_SHARE = 0.1
"""Share of scales, tokenizers and other files."""


def check_space(folder: Path, config: ModelConfig, precision: str) -> None:
    """Raise ExportError if a bundle does not fit on the disk of `folder`, which need not exist."""
    needed_bytes = estimated_bytes(config, precision)
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if needed_bytes > free_bytes:
        raise ExportError(
            f"{folder} needs about {needed_bytes} bytes of disk space, but only {free_bytes} are free; "
            "free some space, or choose another folder"
        )


def estimated_bytes(config: ModelConfig, precision: str) -> int:
    """Return the estimated size of a bundle; encoder and decoder each have a table that they share."""
    shapes = weight_shapes(config)
    sizes = [math.prod(shape) for shape in shapes.values()]
    if config.shared_vocab:
        sizes.append(math.prod(shapes[SOURCE_TABLE]))
    return int(sum(sizes) * BYTES_OF_WEIGHT[precision] * (1 + OTHERS_SHARE))
