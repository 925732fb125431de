"""Conversion of Marian's arrays to our weights.

Marian stores a linear layer as [in, out] and multiplies from the right, we as [out, in]; biases and
norms are rows [1, n]. Embedding tables have a row for each token.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.marian.npz import Array
from export.marian.shape import OPTIONS_ARRAY, MarianShape
from export.model_weights import Floats

POSITIONS_ARRAY = "Wpos"
QUANTISER_SUFFIX = "_QuantMultA"
"""Suffix of activation ranges for Marian's own int8; the weights that they belong to are not quantised."""
_MAPS = (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o"))


@dataclass(frozen=True, slots=True)
class ArraySource:
    """The array from which one weight is read."""

    ours: str
    theirs: str
    rows: int
    """Rows of our weight, which is [rows, columns] or, if `columns` is 0, [rows]."""
    columns: int = 0
    is_map: bool = False
    """Whether the array is transposed: [columns, rows]."""

    @property
    def their_shape(self) -> tuple[int, int]:
        if not self.columns:
            return 1, self.rows
        return (self.columns, self.rows) if self.is_map else (self.rows, self.columns)

    def read(self, array: Array) -> Floats:
        """Return the array as our weight, copied unless it is a table."""
        numbers = array.reshape(self.their_shape)
        if not self.columns:
            return np.array(numbers[0], np.float32)
        if self.is_map:
            return np.array(numbers.T, np.float32, order="C")
        return np.ascontiguousarray(numbers, np.float32)


def convert_weights(
    shape: MarianShape, arrays: dict[str, Array], vocab_sizes: tuple[int, int], problems: list[str]
) -> dict[str, Floats]:
    """Return every weight by its name in `ModelWeights`; tables still have Marian's vocabulary sizes.

    Args:
        shape: shape of the model, which determines its arrays.
        arrays: Marian's arrays by name; each is removed from the dictionary after its last use, so that a
            model is not in memory twice.
        vocab_sizes: sizes of source and target vocabulary.
        problems: arrays that are missing, of another shape or left over are added here.
    """
    places = list(weight_sources(shape, arrays, vocab_sizes))
    wrong = [problem for place in places if (problem := _problem(place, arrays)) is not None]
    known = {OPTIONS_ARRAY, *(place.theirs for place in places)}
    left_over = sorted(name for name in arrays if name not in known and not name.endswith(QUANTISER_SUFFIX))
    wrong += [f"array {name} belongs to a part that is not supported" for name in left_over]
    problems += dict.fromkeys(wrong)  # tied layers would repeat the same ones
    return {} if wrong else _convert(places, arrays)


def _convert(places: Sequence[ArraySource], arrays: dict[str, Array]) -> dict[str, Floats]:
    remaining_uses = Counter(place.theirs for place in places)  # tied layers share arrays
    weights: dict[str, Floats] = {}
    for place in places:
        weights[place.ours] = place.read(arrays[place.theirs])
        remaining_uses[place.theirs] -= 1
        if not remaining_uses[place.theirs]:
            del arrays[place.theirs]
    return weights


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


def _problem(place: ArraySource, arrays: Mapping[str, Array]) -> str | None:
    array = arrays.get(place.theirs)
    if array is None:
        return f"array {place.theirs} is missing"
    shape = (1, *array.shape) if array.ndim == 1 else array.shape
    if shape == place.their_shape:
        return None
    return f"array {place.theirs} has shape {list(array.shape)}, its options need {list(place.their_shape)}"


def weight_sources(
    shape: MarianShape, arrays: Mapping[str, Array], vocab_sizes: tuple[int, int]
) -> Iterator[ArraySource]:
    """Yield the array of each weight; arguments as for `convert_weights`."""
    yield from _tables(shape, arrays, vocab_sizes)
    for side in ("encoder", "decoder"):
        if shape.embedding_norm:
            yield from _norm(f"{side}_embedding_norm", f"{side}_emb", "_pre", shape)
        if shape.final_norm:
            yield from _norm(f"{side}_norm", f"{side}_top", "", shape)
    for index in range(shape.encoder_layers):
        ours, theirs = f"encoder.{index}", f"encoder_l{index + 1}"
        yield from _attention(f"{ours}.self", f"{theirs}_self", shape)
        yield from _feed_forward(ours, theirs, shape.ffn, shape)
    for index, number in enumerate(shape.decoder_layers):
        ours, theirs = f"decoder.{index}", f"decoder_l{number}"
        if shape.autoregression == "ssru":
            yield from _recurrence(ours, f"{theirs}_rnn", shape)
        else:
            yield from _attention(f"{ours}.self", f"{theirs}_self", shape)
        yield from _attention(f"{ours}.cross", f"{theirs}_context", shape)
        yield from _feed_forward(ours, theirs, shape.decoder_ffn, shape)


def _tables(
    shape: MarianShape, arrays: Mapping[str, Array], vocab_sizes: tuple[int, int]
) -> Iterator[ArraySource]:
    sources, targets = vocab_sizes
    source_table = "Wemb" if shape.shared_vocab else "encoder_Wemb"
    yield ArraySource("source_embedding.weight", source_table, sources, shape.d_model)
    if not shape.shared_vocab:
        yield ArraySource("target_embedding.weight", "decoder_Wemb", targets, shape.d_model)
    output = "decoder_ff_logit_out"
    if not shape.tied_output:
        is_map = f"{output}_W" in arrays  # old models; later ones store it like an embedding table
        name = f"{output}_W" if is_map else f"{output}_Wt"
        yield ArraySource("output_weight", name, targets, shape.d_model, is_map)
    if shape.output_has_bias:
        yield ArraySource("output_bias", f"{output}_b", targets)
    if (positions := arrays.get(POSITIONS_ARRAY)) is not None:
        yield ArraySource("position_table", POSITIONS_ARRAY, len(positions), shape.d_model)


def _attention(ours: str, theirs: str, shape: MarianShape) -> Iterator[ArraySource]:
    for name, letter in _MAPS:
        yield from _linear(f"{ours}_attention.{name}", theirs, letter, (shape.d_model, shape.d_model))
    yield from _norm(f"{ours}_residual.norm", f"{theirs}_Wo", "", shape)


def _recurrence(ours: str, theirs: str, shape: MarianShape) -> Iterator[ArraySource]:
    cell = f"{ours}.self_recurrence"
    yield ArraySource(f"{cell}.cell.weight", f"{theirs}_W", shape.d_model, shape.d_model, is_map=True)
    yield from _linear(f"{cell}.forget", theirs, "f", (shape.d_model, shape.d_model))
    # Marian names this norm as if it belonged to a feed-forward part.
    yield from _norm(f"{ours}.self_residual.norm", f"{theirs}_ffn", "", shape)


def _feed_forward(ours: str, theirs: str, ffn: int, shape: MarianShape) -> Iterator[ArraySource]:
    yield from _linear(f"{ours}.feed_forward.inner", f"{theirs}_ffn", "1", (shape.d_model, ffn))
    yield from _linear(f"{ours}.feed_forward.outer", f"{theirs}_ffn", "2", (ffn, shape.d_model))
    yield from _norm(f"{ours}.feed_forward_residual.norm", f"{theirs}_ffn_ffn", "", shape)


def _linear(ours: str, theirs: str, suffix: str, sizes: tuple[int, int]) -> Iterator[ArraySource]:
    """Yield the sources of a linear layer with `sizes[0]` inputs and `sizes[1]` outputs."""
    yield ArraySource(f"{ours}.weight", f"{theirs}_W{suffix}", sizes[1], sizes[0], is_map=True)
    yield ArraySource(f"{ours}.bias", f"{theirs}_b{suffix}", sizes[1])


def _norm(ours: str, theirs: str, suffix: str, shape: MarianShape) -> Iterator[ArraySource]:
    yield ArraySource(f"{ours}.weight", f"{theirs}_ln_scale{suffix}", shape.d_model)
    yield ArraySource(f"{ours}.bias", f"{theirs}_ln_bias{suffix}", shape.d_model)
