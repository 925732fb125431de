"""Weights of a binary model as float32 arrays, and its quantisation for int8 bundles.

Weights of type intgemm8 were multiplied with a number, then rounded; so they are read as integer / number. A
product's input is rounded the same way, with the number in the item `NAME_QuantMultA`, and clipped to -127 to
127 (marian-dev, src/tensors/cpu/intgemm_interface.h).
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from export.activation_ranges import SIGNED_LEVELS, ActivationRange, Quantisation
from export.bergamot.binary import INTGEMM8, BinaryItem
from export.graph.precision.protocol import OUTPUT
from export.marian.npz import Array
from export.marian.weights import QUANTISER_SUFFIX
from export.model_weights import Floats, ModelWeights, weight_shapes
from export.tensors.tensor import TensorFileError
from export.weight_names import WeightSource

TABLE_PART = "Wemb"
"""Part of the names of tables, which are stored row by row; other integers are stored column by column."""
OUTPUT_RANGE = "none" + QUANTISER_SUFFIX
"""Item with the multiplier of the output projection's input, where Marian uses a shortlist. Without one, the
item is named after the table."""
TABLE_RANGES = ("Wemb" + QUANTISER_SUFFIX, "decoder_Wemb" + QUANTISER_SUFFIX)
RANGES = "ranges of activations"
"""Description of a file with ranges, in the manifest."""

Multipliers = dict[str, np.float32]


def read_weights(items: Mapping[str, BinaryItem]) -> tuple[dict[str, Array], Multipliers]:
    """Return all arrays as Marian has them before it rounds any, and the multipliers of the rounded ones.

    Raises:
        TensorFileError: a rounded array is neither a linear layer's nor a table, or has no valid multiplier.
    """
    arrays: dict[str, Array] = {}
    multipliers: Multipliers = {}
    for name, item in items.items():
        if item.dtype != INTGEMM8:
            arrays[name] = item.read()
            continue
        is_table = TABLE_PART in name
        if len(item.shape) != 2 or not (is_table or "_W" in name[-3:]):  # noqa: PLR2004 -- a matrix
            raise TensorFileError(
                f"{item.path.name}: {name} of shape {list(item.shape)} is {INTGEMM8}; only tables and the"
                " matrices of linear layers can be"
            )
        if name.endswith("_Wt"):
            raise TensorFileError(
                f"{item.path.name}: {name} is {INTGEMM8}; only an output projection that is the target's"
                " table can be"
            )
        multipliers[name] = np.float32(item.read_multiplier())
        integers = item.read()
        if not is_table:
            integers = integers.reshape(item.shape[::-1]).T
        arrays[name] = integers * (np.float32(1) / multipliers[name])
    return arrays, multipliers


def read_quantisation(
    model: ModelWeights,
    sources: Sequence[WeightSource],
    items: Mapping[str, BinaryItem],
    multipliers: Multipliers,
    problems: list[str],
) -> Quantisation | None:
    """Return the quantisation of a model; None if its weights are not rounded.

    Args:
        model: the model.
        sources: arrays of its weights.
        items: items of its file.
        multipliers: multipliers of the rounded arrays.
        problems: multipliers of inputs that are missing or damaged are added here.
    """
    if not multipliers:
        return None
    shapes = weight_shapes(model.config)
    scales: dict[str, Floats] = {}
    for source in sources:
        if source.theirs in multipliers:
            scale = np.float32(1) / multipliers[source.theirs]
            scales[_layer(source)] = np.full(shapes[source.ours][0], scale, np.float32)
    ranges: dict[str, ActivationRange] = {}
    if any(name.endswith(QUANTISER_SUFFIX) for name in items):
        named = {
            _layer(source): source.theirs + QUANTISER_SUFFIX for source in sources if source.is_transposed
        }
        output = next((name for name in (OUTPUT_RANGE, *TABLE_RANGES) if name in items), OUTPUT_RANGE)
        for name, theirs in {**named, OUTPUT: output}.items():
            multiplier = _read_number(items, theirs, problems)
            if multiplier is not None:
                ranges[name] = ActivationRange(SIGNED_LEVELS / multiplier, is_signed=True)
    return Quantisation(ranges, scales)


def _layer(source: WeightSource) -> str:
    """Return the name of a linear layer, or the full name of a table."""
    return source.ours.removesuffix(".weight") if source.is_transposed else source.ours


def _read_number(items: Mapping[str, BinaryItem], name: str, problems: list[str]) -> float | None:
    """Return the number above 0 in an item; None, with a problem added, if there is none."""
    item = items.get(name)
    if item is None:
        problems.append(f"item {name} is missing, though other inputs of products have theirs")
        return None
    number = float(item.read().reshape(-1)[0]) if item.num_elements == 1 else math.nan
    if item.dtype != "float32" or not (math.isfinite(number) and number > 0):
        problems.append(f"item {name} is {item.dtype} {list(item.shape)}, not a float32 above 0")
        return None
    return number


def described(multipliers: Multipliers, items: Mapping[str, BinaryItem]) -> Iterator[str]:
    """Yield how the weights are stored, for the manifest."""
    yield f"{len(multipliers)} of {len(items)} items {INTGEMM8}" if multipliers else "float"
    if multipliers and any(name.endswith(QUANTISER_SUFFIX) for name in items):
        yield RANGES
