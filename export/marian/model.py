"""Conversion of a Marian model to our weights.

Marian starts a target with a vector of zeros instead of a token's, plus the first position. Here that is one
more row of both tables, with an output bias of minus infinity: it is never produced, and takes no probability
from other tokens.

Learned positions are used in order, as in Marian's training and scoring. (Its step-by-step translation reads
the first position at every step of the target; this is not imitated.)
"""

import math

import numpy as np

from export.marian.npz import Array
from export.marian.shape import NORM_EPSILON, MarianShape
from export.marian.vocabulary import MarianVocabulary
from export.marian.weights import POSITIONS_ARRAY, convert_weights, find_sources
from export.model_config import ModelConfig
from export.model_weights import OUTPUT_BIAS, OUTPUT_TABLE, SOURCE_TABLE, TARGET_TABLE, Floats, ModelWeights
from export.tensors.tensor import StoredWeights

MAX_POSITIONS = 512
"""Maximum number of positions of models with sinusoidal positions; Marian itself has no limit."""


def build_model(
    shape: MarianShape,
    arrays: dict[str, Array],
    vocabularies: tuple[MarianVocabulary, MarianVocabulary],
    suppressed_ids: tuple[int, ...],
    problems: list[str],
) -> ModelWeights | None:
    """Build the model.

    Args:
        shape: shape in the model's options.
        arrays: weights by Marian's names; each is removed as it is read.
        vocabularies: vocabularies of source and target.
        suppressed_ids: target ids that are never produced; others do not get their probability.
        problems: arrays that do not fit, and invalid sizes, are added here.

    Returns:
        The model; None if there are problems.
    """
    source, target = vocabularies
    try:
        config = _config(shape, arrays.get(POSITIONS_ARRAY), vocabularies, suppressed_ids)
    except ValueError as error:
        problems.append(str(error))
        return None
    sources = find_sources(shape, config, arrays.keys(), (source.size, target.size))
    weights = convert_weights(sources, arrays, problems)
    if not weights:
        return None
    _append_rows(weights, config)
    return ModelWeights(config, StoredWeights(weights))


def _config(
    shape: MarianShape,
    positions: Array | None,
    vocabularies: tuple[MarianVocabulary, MarianVocabulary],
    suppressed_ids: tuple[int, ...],
) -> ModelConfig:
    source, target = vocabularies
    start_id = target.size
    return ModelConfig(
        source_vocab_size=max(source.size, start_id + 1),
        target_vocab_size=start_id + 1,
        encoder_layers=shape.encoder_layers,
        decoder_layers=len(shape.decoder_layers),
        d_model=shape.d_model,
        heads=shape.heads,
        ffn=shape.ffn,
        decoder_ffn=shape.decoder_ffn,
        activation=shape.activation,
        norm="post",
        final_norm=shape.final_norm,
        embedding_norm=shape.embedding_norm,
        norm_epsilon=NORM_EPSILON,
        # Marian does not scale token vectors if positions are learned.
        scaled_embeddings=positions is None,
        positions="tensor2tensor" if positions is None else "learned",
        max_positions=MAX_POSITIONS if positions is None else len(np.atleast_1d(positions)),
        autoregression=shape.autoregression,
        shared_vocab=shape.shared_vocab,
        tied_output=shape.tied_output,
        pad_id=start_id,  # also where a piece of the source has this id: padding is never read
        bos_id=start_id,
        unk_id=target.unk_id,
        eos_id=target.eos_id,
        suppressed_ids=suppressed_ids,
    )


def _append_rows(weights: dict[str, Floats], config: ModelConfig) -> None:
    """Add the rows without a piece: zeros, with a bias that excludes them."""
    weights[SOURCE_TABLE] = _with_rows(weights[SOURCE_TABLE], config.source_vocab_size, 0.0)
    for name in (TARGET_TABLE, OUTPUT_TABLE):
        if name in weights:
            weights[name] = _with_rows(weights[name], config.target_vocab_size, 0.0)
    bias = weights.get(OUTPUT_BIAS, np.zeros(config.bos_id, np.float32))
    weights[OUTPUT_BIAS] = _with_rows(bias, config.target_vocab_size, -math.inf)


def _with_rows(weight: Floats, num_rows: int, value: float) -> Floats:
    added = np.full((num_rows - len(weight), *weight.shape[1:]), value, np.float32)
    return np.concatenate([weight, added])
