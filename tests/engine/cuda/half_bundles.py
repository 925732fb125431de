"""Small random fp16 bundles."""

from pathlib import Path

import torch

from dragoman.manifest import AlignmentHeads
from tests.imports.parity.random_bundles import EOS, random_model, write

SHAPE = {"d_model": 32, "heads": 2, "ffn": 64, "encoder_layers": 1, "decoder_layers": 1, "tied_output": False}


def write_half(folder: Path, alignment: AlignmentHeads | None = None, **shape: object) -> Path:
    """Write a random fp16 bundle whose searches find several tokens, and often end."""
    model = random_model(SHAPE | shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name == "output_bias":
                parameter.zero_()
                parameter[EOS] = 4.0
            elif parameter.ndim > 1:
                parameter.mul_(2.0)
    return write(folder, model, "fp16", alignment)
