"""Searches written for reading only: one source, plain Python, the whole vocabulary at every step."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dragoman.decoding.strategy import Source
from dragoman.types import FinishReason, Hypothesis
from tests.engine.decoding.fake_stepper import EOS, LanguageModel, Logprobs, Prefix, opening


@dataclass(frozen=True)
class Found:
    """A hypothesis, as far as it can be told without the code under test."""

    ids: Prefix
    score: float
    finish_reason: FinishReason


def greedy(model: LanguageModel, number: int, source: Source) -> Found:
    """The best token at each step."""
    limits, alpha = source.limits, source.length_penalty
    read = opening(source.begin)
    ids = source.prefix
    logprob = 0.0
    for length in range(len(source.begin) + len(source.prefix), limits.max_tokens + 1):
        logprobs = model.logprobs(number, (*read, *ids))
        may_end = length > limits.min_tokens
        allowed = [token for token in range(model.vocab_size) if token != EOS or may_end]
        token = min(allowed, key=lambda token: -logprobs[token])
        logprob += float(logprobs[token])
        if token == EOS:
            return Found(ids, logprob / length**alpha, FinishReason.STOP)
        ids = (*ids, token)
    return Found(ids, logprob / limits.max_tokens**alpha, FinishReason.LENGTH)


def beam(model: LanguageModel, number: int, source: Source, beam_size: int) -> tuple[list[Found], int]:
    """Beam search over lists.

    Returns:
        The hypotheses, best first, and the number of steps taken. No hypothesis where none is possible.
    """
    limits, alpha = source.limits, source.length_penalty
    live: list[tuple[Prefix, float]] = [(source.prefix, 0.0)]
    finished: list[Found] = []
    for length in range(len(source.begin) + len(source.prefix), limits.max_tokens + 1):
        candidates = _shortlists(model, number, source, live, may_end=length > limits.min_tokens)
        for ids, total in candidates[:beam_size]:
            if ids[-1] == EOS:
                finished.append(Found(ids[:-1], total / length**alpha, FinishReason.STOP))
            elif length == limits.max_tokens:
                finished.append(Found(ids, total / length**alpha, FinishReason.LENGTH))
        live = [(ids, total) for ids, total in candidates if ids[-1] != EOS][:beam_size]
        finished = sorted(finished, key=lambda found: -found.score)[:beam_size]
        is_full = len(finished) == beam_size
        if finished and not live:
            return finished[: source.num_hypotheses], length
        if is_full and (source.early_stopping or finished[-1].score >= live[0][1] / length**alpha):
            return finished[: source.num_hypotheses], length
    return finished[: source.num_hypotheses], limits.max_tokens


def _shortlists(
    model: LanguageModel, number: int, source: Source, live: list[tuple[Prefix, float]], *, may_end: bool
) -> list[tuple[Prefix, float]]:
    """All possible extensions, best first; of equals, the better hypothesis's better token."""
    ranked: list[tuple[float, int, int, Prefix]] = []
    for rank, (ids, total) in enumerate(live):
        read = (*opening(source.begin), *ids)
        logprobs = [float(logprob) for logprob in model.logprobs(number, read)]
        tokens = sorted(range(model.vocab_size), key=lambda token: -logprobs[token])
        for nth, token in enumerate(tokens):
            if logprobs[token] > -math.inf and (token != EOS or may_end):
                ranked.append((-(total + logprobs[token]), rank, nth, (*ids, token)))
    return [(ids, -negative) for negative, _, _, ids in sorted(ranked)]


def best(model: LanguageModel, number: int, source: Source, beam_size: int) -> list[Found]:
    """What a beam finds, or greedy search without one; nothing where nothing is possible."""
    if beam_size > 1:
        return beam(model, number, source, beam_size)[0]
    found = greedy(model, number, source)
    return [found] if found.score > -math.inf else []


def check_equal(hypotheses: list[Hypothesis], expected: list[Found], tolerance: float = 1e-6) -> None:
    if not expected:
        assert [one.logprob for one in hypotheses] == [-math.inf]
        return
    assert [one.ids for one in hypotheses] == [one.ids for one in expected]
    assert [one.finish_reason for one in hypotheses] == [one.finish_reason for one in expected]
    scores = [one.score for one in expected]
    assert [one.score for one in hypotheses] == pytest.approx(scores, abs=tolerance)


def check_documented(model: LanguageModel, number: int, source: Source, hypotheses: list[Hypothesis]) -> None:
    """Hypotheses are sorted, within their limits, and counted and scored by their own tokens."""
    scores = [one.score for one in hypotheses]
    assert scores == sorted(scores, reverse=True)
    num_forced, read = len(source.begin) - 1, opening(source.begin)
    for one in hypotheses:
        is_stopped = one.finish_reason is FinishReason.STOP
        said = (*one.ids, EOS) if is_stopped else one.ids
        assert EOS not in one.ids
        assert one.ids[: len(source.prefix)] == source.prefix
        assert one.num_tokens == num_forced + len(said) <= source.limits.max_tokens
        assert one.num_tokens - is_stopped >= source.limits.min_tokens
        assert is_stopped or one.num_tokens == source.limits.max_tokens
        steps = [
            float(model.logprobs(number, (*read, *said[:nth]))[said[nth]])
            for nth in range(len(source.prefix), len(said))
        ]
        assert one.logprob == pytest.approx(math.fsum(steps))
        assert one.score == pytest.approx(one.logprob / one.num_tokens**source.length_penalty)


@dataclass(frozen=True)
class FilteredModel:
    """A model that says what is left after the filters of the only source there is."""

    model: LanguageModel
    source: Source

    @property
    def vocab_size(self) -> int:
        return self.model.vocab_size

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        read = [*self.source.begin, *prefix[len(opening(self.source.begin)) :]]
        logprobs = self.model.logprobs(source, prefix).copy()
        for token in set(read):
            logprobs[token] *= np.float32(self.source.repetition_penalty)
        size = self.source.no_repeat_ngram_size
        ngrams = {tuple(read[begin : begin + size]) for begin in range(len(read) - size + 1)}
        for token in range(self.vocab_size):
            if size and token != EOS and (*read[len(read) - size + 1 :], token) in ngrams:
                logprobs[token] = -np.inf
        return logprobs
