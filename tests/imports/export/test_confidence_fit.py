"""Logistic regression of good translations on log-probability and lengths."""

import math

import numpy as np
import pytest

from export.bundle import ExportError
from export.confidence_fit import MIN_OF_EACH, Example, fit_confidence, logistic_regression


def drawn(count: int, logprob: float, length: float, shortness: float) -> list[Example]:
    """Examples whose goodness is drawn with the given weights; the usual length ratio is 1."""
    rng = np.random.default_rng(1)
    examples = []
    for _ in range(count):
        source, ratio = int(rng.integers(10, 300)), math.exp(rng.normal(0, 0.3))
        target, mean_logprob = max(1, round(source * ratio)), -float(rng.exponential(0.5))
        short = max(0.0, math.log(source / target))
        log_odds = -3 + logprob * mean_logprob + length * math.log(source) + shortness * short
        is_good = bool(rng.random() < 1 / (1 + math.exp(-log_odds)))
        examples.append(Example(source, target, mean_logprob, is_good))
    return examples


def test_the_weights_that_made_the_examples_are_found() -> None:
    fitted = fit_confidence(drawn(20_000, logprob=4.0, length=1.2, shortness=-2.0))

    assert fitted.intercept == pytest.approx(-3, abs=0.25)
    assert fitted.logprob == pytest.approx(4.0, abs=0.25)
    assert fitted.source_length == pytest.approx(1.2, abs=0.1)
    assert fitted.shortfall == pytest.approx(-2.0, abs=0.25)
    assert fitted.length_ratio == pytest.approx(1, abs=0.02)
    assert (fitted.min_source_characters, fitted.max_source_characters) == (10, 299)


def test_on_average_the_confidence_is_the_share_of_good_translations() -> None:
    examples = drawn(2000, logprob=4.0, length=1.2, shortness=-2.0)
    fitted = fit_confidence(examples)

    confidences = [
        math.exp(fitted.log_confidence(one.source_characters, one.target_characters, one.mean_logprob))
        for one in examples
    ]

    assert np.mean(confidences) == pytest.approx(np.mean([one.is_good for one in examples]), abs=1e-3)


def test_a_short_target_that_would_raise_the_confidence_is_left_out_of_the_map() -> None:
    assert fit_confidence(drawn(3000, logprob=4.0, length=1.2, shortness=3.0)).shortfall == 0.0


def test_a_log_probability_that_would_lower_the_confidence_is_rejected() -> None:
    with pytest.raises(ExportError, match=r"no confidence map fits.*logprob is -[\d.]+, but must be above 0"):
        fit_confidence(drawn(3000, logprob=-2.0, length=0.5, shortness=0.0))


def test_too_few_good_or_other_translations_are_rejected() -> None:
    example = Example(20, 20, -0.1, is_good=True)
    others = [Example(20, 20, -1.0, is_good=False)] * (MIN_OF_EACH - 1)

    with pytest.raises(ExportError, match=r"50 translations are good and 19 are not; .* at least 20 of each"):
        fit_confidence([example] * 50 + others)
    with pytest.raises(ExportError, match="0 translations are good and 0 are not"):
        fit_confidence([])


def test_separable_examples_and_constant_features_have_finite_weights() -> None:
    features = np.array([[-1.0, 3.0], [-2.0, 3.0], [-5.0, 3.0], [-6.0, 3.0]])

    weights = logistic_regression(features, np.array([1.0, 1.0, 0.0, 0.0]))

    assert np.isfinite(weights).all()
    assert weights[1] > 0
    assert weights[2] == 0
