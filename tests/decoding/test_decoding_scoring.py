"""Scores: logprob / tokens ** alpha, for one hypothesis and for a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decoding.scoring import normalised_score, text_score
from dragoman.types import FinishReason, Hypothesis


def hypothesis_of(logprob: float, num_tokens: int) -> Hypothesis:
    return Hypothesis((2,) * (num_tokens - 1), logprob, num_tokens, 0.0, FinishReason.STOP)


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, -8.0), (0.5, -8 / 3), (1.0, -8 / 9)])
def test_a_text_scores_as_one_long_hypothesis(alpha: float, expected: float) -> None:
    segments = [hypothesis_of(-6.0, 4), hypothesis_of(-2.0, 5)]

    assert text_score(segments, alpha) == pytest.approx(expected)
    assert text_score([], alpha) == 0.0


@given(st.floats(-1e3, 0.0), st.integers(1, 500), st.floats(0.0, 3.0))
def test_a_text_of_one_segment_scores_as_its_hypothesis(
    logprob: float, num_tokens: int, alpha: float
) -> None:
    score = text_score([hypothesis_of(logprob, num_tokens)], alpha)

    assert score == normalised_score(logprob, num_tokens, alpha)
