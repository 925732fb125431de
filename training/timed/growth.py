"""Deeper encoders that start with the function of a shallower one."""

from dataclasses import replace

import torch

from export.checkpoint import load_weights, untied_weights
from export.model import TranslationModel, model_class

OUTPUT_MAPS = ("self_attention.output.", "feed_forward.outer.")
"""The last maps of a layer's two residual branches."""


def grow_encoder(model: TranslationModel, encoder_layers: int, dropout: float) -> TranslationModel:
    """Return a model whose added encoder layers change nothing at first.

    Each layer is followed by copies of it whose output maps are zero (as in Chen et al. 2015, Net2Net,
    arXiv:1511.05641, and Gong et al. 2019, progressive stacking).

    Args:
        model: pre-norm Transformer.
        encoder_layers: layers of the result, at least those of the model.
        dropout: dropout of the result.
    """
    num_old = model.config.encoder_layers
    config = replace(model.config, encoder_layers=encoder_layers, dropout=dropout)
    weights = untied_weights(model)
    grown = {name: weight for name, weight in weights.items() if not name.startswith("encoder.")}
    origins = [index * num_old // encoder_layers for index in range(encoder_layers)]
    for index, origin in enumerate(origins):
        is_copy = index > 0 and origins[index - 1] == origin
        prefix = f"encoder.{origin}."
        for name, weight in weights.items():
            if name.startswith(prefix):
                part = name.removeprefix(prefix)
                is_zero = is_copy and part.startswith(OUTPUT_MAPS)
                new = torch.zeros_like(weight) if is_zero else weight.clone()
                grown[f"encoder.{index}.{part}"] = new
    result = model_class(config)(config)
    load_weights(result, grown, "the grown model")
    return result
