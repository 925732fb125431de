"""Conversion of Marian's arrays to our weights.

Marian stores a linear layer as [in, out] and multiplies from the right, we as [out, in]; biases and
norms are rows [1, n]. Embedding tables have a row for each token.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

import numpy as np

from export.marian.npz import Array
from export.marian.shape import OPTIONS_ARRAY, MarianShape
from export.model_config import ModelConfig
from export.model_weights import (
    OUTPUT_BIAS,
    OUTPUT_TABLE,
    POSITIONS,
    SOURCE_TABLE,
    TARGET_TABLE,
    Floats,
    weight_shapes,
)
from export.weight_names import WeightSource, weight_sources

POSITIONS_ARRAY = "Wpos"
OUTPUT, LEGACY_OUTPUT = "decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W"
"""A separate output projection; old models store it like a linear layer, later ones like a table."""
QUANTISER_SUFFIX = "_QuantMultA"
"""Suffix of activation ranges for Marian's own int8; the weights that they belong to are not quantised."""


def find_sources(
    shape: MarianShape, config: ModelConfig, names: Container[str], vocab_sizes: tuple[int, int]
) -> list[WeightSource]:
    """Return the array of each weight, in the order of our weights.

    Args:
        shape: shape in the model's options.
        config: shape of our model.
        names: names of the arrays.
        vocab_sizes: sizes of source and target vocabulary, which Marian's tables have rows for.
    """
    (sources, targets), width, shapes = vocab_sizes, config.d_model, weight_shapes(config)
    is_legacy = LEGACY_OUTPUT in names
    tables = (
        WeightSource(SOURCE_TABLE, "Wemb" if shape.shared_vocab else "encoder_Wemb", (sources, width)),
        WeightSource(TARGET_TABLE, "decoder_Wemb", (targets, width)),
        WeightSource(OUTPUT_TABLE, LEGACY_OUTPUT if is_legacy else OUTPUT, (targets, width), is_legacy),
        WeightSource(POSITIONS, POSITIONS_ARRAY, (config.max_positions, width)),
    )
    found = [table for table in tables if table.ours in shapes]
    if shape.output_has_bias:
        found.append(WeightSource(OUTPUT_BIAS, "decoder_ff_logit_out_b", (targets,)))
    variant = "recurrent" if shape.autoregression == "ssru" else ""
    numbers = {"encoder": range(1, shape.encoder_layers + 1), "decoder": shape.decoder_layers}
    return [*found, *weight_sources("marian", shapes, variant, numbers)]


def convert_weights(
    sources: Sequence[WeightSource], arrays: dict[str, Array], problems: list[str]
) -> dict[str, Floats]:
    """Return every weight by its name in `ModelWeights`; tables still have Marian's vocabulary sizes.

    Args:
        sources: array of each weight.
        arrays: Marian's arrays by name; each is removed from the dictionary after its last use, so that a
            model is not in memory twice.
        problems: arrays that are missing, of another shape or left over are added here.
    """
    wrong = [problem for source in sources if (problem := _problem(source, arrays)) is not None]
    known = {OPTIONS_ARRAY, *(source.theirs for source in sources)}
    left_over = sorted(name for name in arrays if name not in known and not name.endswith(QUANTISER_SUFFIX))
    wrong += [f"array {name} belongs to a part that is not supported" for name in left_over]
    problems += dict.fromkeys(wrong)  # tied layers would repeat the same ones
    if wrong:
        return {}
    remaining_uses = Counter(source.theirs for source in sources)  # tied layers share arrays
    weights: dict[str, Floats] = {}
    for source in sources:
        weights[source.ours] = _convert(source, arrays[source.theirs])
        remaining_uses[source.theirs] -= 1
        if not remaining_uses[source.theirs]:
            del arrays[source.theirs]
    return weights


def _their_shape(source: WeightSource) -> tuple[int, ...]:
    """Return the shape of an array."""
    if len(source.shape) == 1:
        return (1, *source.shape)
    return source.shape[::-1] if source.is_transposed else source.shape


def _convert(source: WeightSource, array: Array) -> Floats:
    """Return an array as our weight, copied unless it is a table."""
    if source.is_transposed:
        return np.array(array.T, np.float32, order="C")
    if len(source.shape) == 1:
        return np.array(array.reshape(-1), np.float32)
    return np.ascontiguousarray(array, np.float32)


def precision_problems(arrays: Mapping[str, Array]) -> list[str]:
    """Return a problem if arrays have other numbers than floating-point ones: packed or quantised."""
    others = {
        name: array.dtype
        for name, array in arrays.items()
        if name != OPTIONS_ARRAY and not np.issubdtype(array.dtype, np.floating)
    }
    if not others:
        return []
    name, dtype = next(iter(others.items()))
    return [
        f"{len(others)} arrays are packed or quantised ({name} is {dtype}); only floating-point is supported"
    ]


def _problem(source: WeightSource, arrays: Mapping[str, Array]) -> str | None:
    array, expected = arrays.get(source.theirs), _their_shape(source)
    if array is None:
        return f"array {source.theirs} is missing"
    shape = (1, *array.shape) if array.ndim == 1 else array.shape
    if shape == expected:
        return None
    return f"array {source.theirs} has shape {list(array.shape)}, its options need {list(expected)}"
