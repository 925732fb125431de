"""How hypotheses of different lengths are compared.

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
    """What a log-probability is divided by; 1.0 for any length when `length_penalty` is 0."""
    return math.pow(num_tokens, length_penalty)


@lru_cache(maxsize=64)
def length_norms(max_tokens: int, length_penalty: float) -> NDArray[np.float64]:
    """`length_norm` of 0, 1, ... `max_tokens` tokens, float64 [max_tokens + 1]; not to be written to.

    numpy's own power may differ from `math.pow` in the last bit, and so may a score from its bound.
    """
    norms = np.array([1.0, *(length_norm(count, length_penalty) for count in range(1, max_tokens + 1))])
    norms.flags.writeable = False
    return norms


def normalised_score(logprob: float, num_tokens: int, length_penalty: float) -> float:
    """Score of a hypothesis; higher is better.

    Args:
        logprob: natural logarithm of the probability of all its tokens.
        num_tokens: at least 1; the end-of-sentence token counts if it came.
        length_penalty: alpha; 0 compares plain log-probabilities, more favours longer hypotheses.
    """
    return logprob / length_norm(num_tokens, length_penalty)


def text_score(hypotheses: Iterable[Hypothesis], length_penalty: float) -> float:
    """Score of a text: its segments' hypotheses taken as one long hypothesis; 0.0 if there are none."""
    logprob = 0.0
    num_tokens = 0
    for hypothesis in hypotheses:
        logprob += hypothesis.logprob
        num_tokens += hypothesis.num_tokens
    return normalised_score(logprob, num_tokens, length_penalty) if num_tokens else 0.0
