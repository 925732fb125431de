"""Calibrated confidence: the probability that a segment's translation is good.

A logistic regression on three features of a segment and its translation. `python -m export.confidence` fits
it to the bundle's own translations of parallel text; docs/reference/bundle-format.md describes the fields.
"""

import math
from dataclasses import dataclass

MAX_WEIGHT = 1000.0
"""Maximum absolute value of a weight: far more than any fit finds, so that all sums stay finite."""


@dataclass(frozen=True, slots=True)
class ConfidenceMap:
    """Weights of the features, on the scale of log-odds."""

    intercept: float
    logprob: float
    """Weight of the mean log-probability of the target tokens; above 0."""
    source_length: float
    """Weight of the natural logarithm of the number of source characters."""
    shortfall: float
    """Weight of the shortfall, see `shortfall`; at most 0."""
    length_ratio: float
    """Usual number of target characters for each source character."""
    min_source_characters: int
    """Shortest source in the parallel text; shorter ones count as this long."""
    max_source_characters: int
    """Longest source in the parallel text; longer ones count as this long."""

    def log_confidence(self, source_characters: int, target_characters: int, mean_logprob: float) -> float:
        """Return the natural logarithm of the probability that a segment's translation is good."""
        characters = min(max(source_characters, self.min_source_characters), self.max_source_characters)
        log_odds = (
            self.intercept
            + self.logprob * mean_logprob
            + self.source_length * math.log(characters)
            + self.shortfall * shortfall(source_characters, target_characters, self.length_ratio)
        )
        return min(log_odds, 0.0) - math.log1p(math.exp(-abs(log_odds)))


def shortfall(source_characters: int, target_characters: int, length_ratio: float) -> float:
    """Return by how much a target is shorter than usual, as natural logarithm of the ratio; at least 0."""
    return max(0.0, math.log(length_ratio * max(1, source_characters) / max(1, target_characters)))


def map_problems(fitted: ConfidenceMap) -> list[str]:
    """Return what is wrong with a map: a message for each field that has no valid value."""
    problems = [
        f"{name} is {value}, but must be from {-MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        for name, value in (
            ("intercept", fitted.intercept),
            ("logprob", fitted.logprob),
            ("source_length", fitted.source_length),
            ("shortfall", fitted.shortfall),
        )
        if not abs(value) <= MAX_WEIGHT  # also true for NaN
    ]
    if fitted.logprob <= 0:
        problems.append(f"logprob is {fitted.logprob}, but must be above 0")
    if fitted.shortfall > 0:
        problems.append(f"shortfall is {fitted.shortfall}, but must be at most 0")
    if not 1 / MAX_WEIGHT <= fitted.length_ratio <= MAX_WEIGHT:
        limits = f"{1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        problems.append(f"length_ratio is {fitted.length_ratio}, but must be from {limits}")
    if fitted.max_source_characters < fitted.min_source_characters:
        problems.append(
            f"max_source_characters is {fitted.max_source_characters}, but must be at least "
            f"min_source_characters, {fitted.min_source_characters}"
        )
    return problems
