"""Searches written for reading only: one source, plain Python, the whole vocabulary at every step."""

import itertools
import math
from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import SourceLimits
from dragoman.types import FinishReason
from tests.decoding.fake_stepper import EOS, LanguageModel, Prefix


@dataclass(frozen=True)
class Found:
    """A hypothesis, as far as it can be told without the code under test."""

    ids: Prefix
    score: float
    finish_reason: FinishReason


def greedy(model: LanguageModel, source: int, limits: SourceLimits, alpha: float) -> Found:
    """The best token at each step."""
    ids: Prefix = ()
    logprob = 0.0
    for length in range(1, limits.max_tokens + 1):
        logprobs = model.logprobs(source, ids)
        allowed = [
            token for token in range(model.vocab_size) if token != EOS or len(ids) >= limits.min_tokens
        ]
        token = min(allowed, key=lambda token: -logprobs[token])
        logprob += float(logprobs[token])
        if token == EOS:
            return Found(ids, logprob / length**alpha, FinishReason.STOP)
        ids = (*ids, token)
    return Found(ids, logprob / limits.max_tokens**alpha, FinishReason.LENGTH)


def beam(
    model: LanguageModel, source: int, limits: SourceLimits, options: DecodingOptions
) -> tuple[list[Found], int]:
    """Beam search over lists.

    Returns:
        The hypotheses, best first, and the number of steps taken. No hypothesis where none is possible.
    """
    alpha = options.length_penalty
    live: list[tuple[Prefix, float]] = [((), 0.0)]
    ended: list[Found] = []
    for length in range(1, limits.max_tokens + 1):
        candidates = _candidates(model, source, live, may_end=length - 1 >= limits.min_tokens)
        for ids, total in candidates[: options.beam_size]:
            if ids[-1] == EOS:
                ended.append(Found(ids[:-1], total / length**alpha, FinishReason.STOP))
        live = [(ids, total) for ids, total in candidates if ids[-1] != EOS][: options.beam_size]
        ended.sort(key=lambda found: -found.score)
        best = ended[: options.beam_size]
        if best and not live:
            return best[: options.num_hypotheses], length
        if len(best) == options.beam_size and best[-1].score >= live[0][1] / length**alpha:
            return best[: options.num_hypotheses], length
    cut = [Found(ids, total / limits.max_tokens**alpha, FinishReason.LENGTH) for ids, total in live]
    return (ended + cut)[: options.num_hypotheses], limits.max_tokens


def _candidates(
    model: LanguageModel, source: int, live: list[tuple[Prefix, float]], *, may_end: bool
) -> list[tuple[Prefix, float]]:
    """All possible extensions, best first; of equals, the better hypothesis's better token."""
    ranked: list[tuple[float, int, int, Prefix]] = []
    for rank, (ids, total) in enumerate(live):
        logprobs = [float(logprob) for logprob in model.logprobs(source, ids)]
        tokens = sorted(range(model.vocab_size), key=lambda token: -logprobs[token])
        for nth, token in enumerate(tokens):
            if logprobs[token] > -math.inf and (token != EOS or may_end):
                ranked.append((-(total + logprobs[token]), rank, nth, (*ids, token)))
    return [(ids, -negative) for negative, _, _, ids in sorted(ranked)]


def exhaustive(model: LanguageModel, source: int, limits: SourceLimits, alpha: float) -> list[Found]:
    """Every possible sequence: ended ones by score, then those the limit cuts by score."""
    others = [token for token in range(model.vocab_size) if token != EOS]
    ended = [
        Found(ids, _logprob(model, source, (*ids, EOS)) / (length + 1) ** alpha, FinishReason.STOP)
        for length in range(limits.min_tokens, limits.max_tokens)
        for ids in itertools.product(others, repeat=length)
    ]
    cut = [
        Found(ids, _logprob(model, source, ids) / limits.max_tokens**alpha, FinishReason.LENGTH)
        for ids in itertools.product(others, repeat=limits.max_tokens)
    ]
    ended.sort(key=lambda found: -found.score)
    cut.sort(key=lambda found: -found.score)
    return ended + cut


def _logprob(model: LanguageModel, source: int, ids: Prefix) -> float:
    return sum(float(model.logprobs(source, ids[:nth])[token]) for nth, token in enumerate(ids))
