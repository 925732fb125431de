"""Options out of range are rejected by name, models fill in missing ones; scores by length."""

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decoding.options import MAX_PREFIX_CHARACTERS, DecodingOptions, Sampling
from dragoman.decoding.scoring import normalised_score, text_score
from dragoman.errors import InputError
from dragoman.terms import Terminology
from dragoman.types import FinishReason, Formality, Hypothesis, Method, SearchKind, Splitting


@pytest.mark.parametrize(
    ("options", "field", "values", "limit"),
    [
        (DecodingOptions, "beam_size", (0, 33), "between 1 and 32"),
        (DecodingOptions, "num_hypotheses", (0, 33), "between 1 and 32"),
        (DecodingOptions, "max_length", (0,), "at least 1"),
        (DecodingOptions, "min_length", (-1,), "at least 0"),
        (DecodingOptions, "length_penalty", (-0.1, 10.1, math.nan), "between 0 and 10"),
        (DecodingOptions, "repetition_penalty", (0.9, 10.5, math.nan), "between 1 and 10"),
        (DecodingOptions, "no_repeat_ngram_size", (-1, 33), "between 0 and 32"),
        (partial(DecodingOptions, beam_size=2), "num_hypotheses", (3,), "more than beam_size 2"),
        (partial(DecodingOptions, max_length=5), "min_length", (6,), "more than max_length 5"),
        (partial(DecodingOptions, sampling=Sampling()), "num_hypotheses", (33,), "between 1 and 32"),
        (Sampling, "top_k", (-1,), "at least 0"),
        (Sampling, "top_p", (0.0, 1.1, math.nan), "above 0 and at most 1"),
        (Sampling, "temperature", (0.0, 10.5, math.nan), "above 0 and at most 10"),
        (Sampling, "seed", (-1, 2**63), f"between 0 and {2**63 - 1}"),
    ],
)
def test_an_option_out_of_range_is_rejected_with_its_name_and_range(
    options: Callable[..., object], field: str, values: tuple[float, ...], limit: str
) -> None:
    for value in values:
        with pytest.raises(InputError) as raised:
            options(**{field: value})

        assert raised.value.field == field
        assert str(value) in raised.value.problem
        assert limit in raised.value.problem


FILTERED = SearchKind(4, method=Method.FILTERED)


@pytest.mark.parametrize(
    ("options", "kind", "kind_with_shortlist"),
    [
        (DecodingOptions(), SearchKind(4), SearchKind(4, is_shortlisted=True)),
        (DecodingOptions(use_shortlist=False), SearchKind(4), SearchKind(4)),
        (DecodingOptions(repetition_penalty=1.1), FILTERED, FILTERED),
        (DecodingOptions(no_repeat_ngram_size=3), FILTERED, FILTERED),
        (DecodingOptions(num_hypotheses=3, sampling=Sampling()), *[SearchKind(3, method=Method.SAMPLE)] * 2),
        (
            DecodingOptions(sampling=Sampling(), repetition_penalty=2.0),
            *[SearchKind(1, method=Method.SAMPLE)] * 2,
        ),
    ],
)
def test_a_plain_search_alone_takes_the_shortlist_that_there_is(
    options: DecodingOptions, kind: SearchKind, kind_with_shortlist: SearchKind
) -> None:
    resolved = options.resolve(4, 1.0, early_stopping=False)

    assert [resolved.kind(has_shortlist) for has_shortlist in (False, True)] == [kind, kind_with_shortlist]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 1},
        {"beam_size": 32, "num_hypotheses": 32},
        {"num_hypotheses": 32},
        {"min_length": 5, "max_length": 5},
        {"length_penalty": 0.0},
        {"length_penalty": 10.0},
        {"early_stopping": False},
        {"repetition_penalty": 10.0, "no_repeat_ngram_size": 32},
        {"sampling": Sampling(0, 1e-9, 1e-9, 0), "num_hypotheses": 32, "beam_size": 1},
        {"sampling": Sampling(10**9, 1.0, 10.0, 2**63 - 1)},
        {"target_prefix": "x" * MAX_PREFIX_CHARACTERS},
    ],
)
def test_the_ends_of_every_range_are_accepted(options: dict[str, Any]) -> None:
    accepted = DecodingOptions(**options)

    assert all(getattr(accepted, field) == value for field, value in options.items())


@pytest.mark.parametrize(
    "options",
    [
        DecodingOptions(),
        DecodingOptions(beam_size=1, length_penalty=0.0, early_stopping=True),
        DecodingOptions(early_stopping=False, repetition_penalty=1.5, no_repeat_ngram_size=2),
        DecodingOptions(terminology=Terminology(forbidden=("nein",))),
        DecodingOptions(
            num_hypotheses=3,
            max_length=90,
            min_length=2,
            return_scores=False,
            use_shortlist=False,
            sampling=Sampling(seed=4),
            target_prefix="Ja,",
            splitting=Splitting.OFF,
            formality=Formality.FORMAL,
            return_alignment=True,
            return_tokens=True,
        ),
    ],
)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_only_options_not_requested_get_the_models_default(
    options: DecodingOptions, *, early_stopping: bool
) -> None:
    resolved = options.resolve(6, 0.6, early_stopping=early_stopping)

    beam_size = 6 if options.sampling is None else 1
    defaults = {"beam_size": beam_size, "length_penalty": 0.6, "early_stopping": early_stopping}
    for name in (each.name for each in fields(resolved)):
        requested_value = getattr(options, name)
        assert getattr(resolved, name) == (defaults.get(name) if requested_value is None else requested_value)


def test_more_hypotheses_than_the_models_own_beam_holds_are_rejected() -> None:
    options = DecodingOptions(num_hypotheses=5)

    with pytest.raises(InputError, match=r"^num_hypotheses: .*more than beam_size 4"):
        options.resolve(4, 1.0, early_stopping=False)

    assert options.resolve(5, 1.0, early_stopping=False).num_hypotheses == 5
    with pytest.raises(InputError, match=r"^sampling: .*cannot be combined with beam_size 2"):
        DecodingOptions(beam_size=2, sampling=Sampling())


@pytest.mark.parametrize(
    ("beam_size", "length_penalty", "field"),
    [(33, 1.0, "beam_size"), (0, 1.0, "beam_size"), (4, 11.0, "length_penalty"), (4, -1.0, "length_penalty")],
)
def test_defaults_out_of_range_are_rejected_like_requested_options(
    beam_size: int, length_penalty: float, field: str
) -> None:
    with pytest.raises(InputError, match=f"^{field}: "):
        DecodingOptions().resolve(beam_size, length_penalty, early_stopping=False)


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        ("x" * (MAX_PREFIX_CHARACTERS + 1), "2001 characters are over the limit of 2000"),
        ("Ja,\n", r"control character U\+000A at character 3"),
        ("\x00", r"control character U\+0000 at character 0"),
        ("a\u2028b", r"control character U\+2028"),
    ],
)
def test_a_prefix_is_part_of_a_line_and_not_long(prefix: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^target_prefix: .*{problem}"):
        DecodingOptions(target_prefix=prefix)


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
