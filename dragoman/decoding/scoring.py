"""Scores, which make hypotheses of different lengths comparable.

score = logprob / num_tokens ** alpha, alpha being the length penalty: the convention of Hugging Face
Transformers and CTranslate2. Wu et al. 2016 (https://arxiv.org/abs/1609.08144, eq. 14) divide by
((5 + num_tokens) / 6) ** alpha instead, so their values of alpha do not carry over.
"""

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.types import Hypothesis


def length_norm(num_tokens: int, length_penalty: float) -> float:
    """Return the divisor of a log-probability; 1.0 for any length if `length_penalty` is 0."""
    return math.pow(num_tokens, length_penalty)


@lru_cache(maxsize=64)
def length_norms(max_tokens: int, length_penalty: float) -> NDArray[np.float64]:
    """Return `length_norm` of 0, 1, ... `max_tokens` tokens, float64 [max_tokens + 1], read-only.

    Uses `math.pow`: numpy's power may differ in the last bit, and then a score would differ from its bound.
    """
    norms = np.array([1.0, *(length_norm(count, length_penalty) for count in range(1, max_tokens + 1))])
    norms.flags.writeable = False
    return norms


def normalised_score(logprob: float, num_tokens: int, length_penalty: float) -> float:
    """Return the score of a hypothesis; higher is better.

    Args:
        logprob: natural logarithm of the probability of all its tokens.
        num_tokens: at least 1; includes the end-of-sentence token, if present.
        length_penalty: alpha; 0 compares plain log-probabilities, higher values favour longer hypotheses.
    """
    return logprob / length_norm(num_tokens, length_penalty)


def text_score(hypotheses: Iterable[Hypothesis], length_penalty: float) -> float:
    """Score a text as one long hypothesis made of its segments' hypotheses; 0.0 if there are none."""
    logprob = 0.0
    num_tokens = 0
    for hypothesis in hypotheses:
        logprob += hypothesis.logprob
        num_tokens += hypothesis.num_tokens
    return normalised_score(logprob, num_tokens, length_penalty) if num_tokens else 0.0
