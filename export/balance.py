"""Scales moved between adjacent linear layers, so that one quantisation step fits all channels between them.

- An attention score is the sum over channels of query times key, and attention's output is linear in the
  values. So a channel's key may be divided by any number if its query is multiplied by it, and its value if
  the output layer's column is multiplied. K/V caches are then rounded with one step, and are as precise as
  with a step per channel.
- ReLU commutes with any positive factor. So the rows of the feed-forward's inner layer may all get the same
  largest weight, if the outer layer's columns are divided by the same factors: the inner weights then need
  only one step.

The model remains the same function. Nagel, van Baalen, Blankevoort and Welling, "Data-Free Quantization
Through Weight Equalization and Bias Correction", ICCV 2019, arXiv:1906.04721, section 4.1.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.activation_ranges import Quantisation
from export.model_weights import Floats, ModelWeights
from export.recurrent_weights import KEY, KEY_STEPS

SMALLEST_ROW = 1e-3
"""Lower bound on a row's largest weight: rows that are almost zero are not scaled without bounds."""


def balance_caches(model: ModelWeights, steps: Mapping[str, Floats]) -> ModelWeights:
    """Return an equivalent model whose decoder keys and values are in units of quantisation steps.

    Args:
        model: stays unchanged; both models share the weights that do not change.
        steps: steps of the outputs of every key and value layer in the decoder, [d], by layer name.
    """
    if model.config.architecture == "bahdanau":
        return _scale_keys(model, steps)
    scaled: dict[str, Floats] = {}
    for name, key in steps.items():
        attention, _, layer = name.rpartition(".")
        if layer == "key":
            value = steps.get(f"{attention}.value", key)
            scaled |= _scale_outputs(model, f"{attention}.query", key)
            scaled |= _scale_outputs(model, name, 1 / key)
            scaled[f"{attention}.output.weight"] = model.weights[f"{attention}.output.weight"] * value
        else:
            scaled |= _scale_outputs(model, name, 1 / key)
    return model.with_weights(scaled)


def balance_quantisation(stored: Quantisation, steps: Mapping[str, Floats]) -> Quantisation:
    """Return the quantisation of the model that `balance_caches` returns: its integers are the same.

    Args:
        stored: quantisation of the original model.
        steps: as for `balance_caches`; the steps of a layer of values must be equal, since they scale the
            input of the output layer, which has one range.
    """
    factors: dict[str, Floats] = {}
    ranges = dict(stored.ranges)
    for name, key in steps.items():
        attention, _, layer = name.rpartition(".")
        factors[name] = np.float32(1) / key
        if layer == "key":
            output, step = f"{attention}.output", steps[f"{attention}.value"][:1]
            factors[f"{attention}.query"], factors[output] = key, step
            if output in ranges:
                ranges[output] = replace(ranges[output], clip=ranges[output].clip / float(step[0]))
    scales = {name: scale * factors.get(name, np.float32(1)) for name, scale in stored.scales.items()}
    return Quantisation(ranges, scales)


def balance_feed_forward(model: ModelWeights) -> ModelWeights:
    """Return an equivalent model whose inner feed-forward layers have rows with the same largest weight.

    With an activation other than ReLU, or with a gate, nothing changes.
    """
    if model.config.activation != "relu" or model.config.gated_ffn:
        return model
    scaled: dict[str, Floats] = {}
    for name in feed_forwards(model):
        largest = np.maximum(np.abs(model.weights[f"{name}.inner.weight"]).max(axis=1), SMALLEST_ROW)
        factors = largest.max() / largest
        scaled |= _scale_outputs(model, f"{name}.inner", factors)
        scaled[f"{name}.outer.weight"] = model.weights[f"{name}.outer.weight"] / factors
    return model.with_weights(scaled)


def feed_forwards(model: ModelWeights) -> list[str]:
    """Return the names of the feed-forward blocks."""
    return [name.removesuffix(".inner.weight") for name in model.weights if name.endswith(".inner.weight")]


def _scale_keys(model: ModelWeights, steps: Mapping[str, Floats]) -> ModelWeights:
    """Return an equivalent recurrent model whose cross keys are in units of quantisation steps.

    The decoder multiplies them by the steps before it adds the query: a factor cannot pass tanh.
    """
    step = steps[KEY]
    scaled = model.weights[f"{KEY}.weight"] / step[:, None]
    return model.with_weights({f"{KEY}.weight": scaled, KEY_STEPS: step})


def _scale_outputs(model: ModelWeights, name: str, factors: NDArray[np.floating[Any]]) -> dict[str, Floats]:
    weight, bias = model.linear(name)
    return {f"{name}.weight": weight * factors[:, None], f"{name}.bias": bias * factors}
