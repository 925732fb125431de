"""Fit a bundle's confidence map: logistic regression on translations that were scored against references."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.confidence import ConfidenceMap, map_problems, shortfall
from export.bundle import ExportError

ORIGIN_FIELD = "confidence"
"""Field of the manifest's `origin` that records how the map was made."""
MIN_OF_EACH = 20
"""Minimum number of good translations, and of others."""
RIDGE = 1e-3
"""Weight decay per example, in standard deviations: bounds the weights where the classes can be separated."""
MAX_STEPS = 10_000
TOLERANCE = 1e-9
"""The fit ends when no weight changes by more."""
DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Example:
    """A translated segment, and whether its translation is good."""

    source_characters: int
    target_characters: int
    mean_logprob: float
    is_good: bool


def fit_confidence(examples: Sequence[Example]) -> ConfidenceMap:
    """Fit a map. A short target never raises the confidence: if it would, its weight is 0.

    Raises:
        ExportError: there are too few good translations or too few others, or a higher log-probability does
            not make a good translation more likely.
    """
    is_good = np.array([example.is_good for example in examples], np.float64)
    num_good = int(is_good.sum())
    if min(num_good, len(examples) - num_good) < MIN_OF_EACH:
        raise ExportError(
            f"{num_good} translations are good and {len(examples) - num_good} are not; the fit needs at "
            f"least {MIN_OF_EACH} of each: give more pairs, or harder or easier ones"
        )
    lengths = [(example.source_characters, example.target_characters) for example in examples]
    length_ratio = round(float(np.median([target / source for source, target in lengths])), DECIMALS)
    features = np.column_stack(
        [
            [example.mean_logprob for example in examples],
            np.log([source for source, _ in lengths]),
            [shortfall(source, target, length_ratio) for source, target in lengths],
        ]
    )
    weights = logistic_regression(features, is_good)
    if weights[-1] > 0:
        weights = np.append(logistic_regression(features[:, :-1], is_good), 0.0)
    intercept, logprob, source_length, missing = (round(float(weight), DECIMALS) for weight in weights)
    fitted = ConfidenceMap(
        intercept=intercept,
        logprob=logprob,
        source_length=source_length,
        shortfall=missing,
        length_ratio=length_ratio,
        min_source_characters=min(source for source, _ in lengths),
        max_source_characters=max(source for source, _ in lengths),
    )
    if problems := map_problems(fitted):
        raise ExportError(f"no confidence map fits these pairs: {'; '.join(problems)}")
    return fitted


def logistic_regression(
    features: NDArray[np.float64], is_positive: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the intercept and the weight of each feature.

    Each step minimises a quadratic upper bound of the loss (Böhning and Lindsay 1988): the loss never rises.

    Args:
        features: float64 [N, F].
        is_positive: 1.0 or 0.0 for each row, float64 [N].
    """
    mean, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    inputs = np.column_stack([np.ones(len(features)), (features - mean) / scale])
    decay = np.full(inputs.shape[1], RIDGE * len(inputs))
    decay[0] = 0.0
    bound = inputs.T @ inputs / 4 + np.diag(decay)
    weights = np.zeros(inputs.shape[1])
    for _ in range(MAX_STEPS):
        predicted = 0.5 * (1.0 + np.tanh(inputs @ weights / 2))  # the logistic function, without overflow
        step = np.linalg.solve(bound, inputs.T @ (is_positive - predicted) - decay * weights)
        weights += step
        if np.abs(step).max() < TOLERANCE:
            break
    slopes = weights[1:] / scale
    return np.concatenate([[weights[0] - slopes @ mean], slopes])
