"""Constrained search: required phrases, forbidden ones, and what the beam keeps on the way."""

import itertools
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.constrained_lane import ConstrainedLane
from dragoman.decoding.constraints import Constraints, PhraseForm, Progress, RequiredPhrase
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.engine.decoding.fake_lanes import check_any_company, join, run_to_end
from tests.engine.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    LanguageModel,
    Logprobs,
    Prefix,
    RandomModel,
    ShiftedModel,
    TableModel,
)

VOCAB_SIZE = 5
WORDS = ["", "", " a", " b", " c", "c", "s", "x"]
"""Text of each id. The last three continue a word."""
A, B, C, INSIDE_C, ENDING_S, X = 2, 3, 4, 5, 6, 7


def vocabulary(size: int) -> TargetVocabulary:
    """A plural ends in `s`."""
    return TargetVocabulary(
        EOS,
        size,
        text_of=lambda token: WORDS[token],
        is_inflected=lambda _, word, other: other.removesuffix("s") == word.removesuffix("s"),
    )


def phrase(*forms: tuple[int, ...], count: int = 1) -> RequiredPhrase:
    return RequiredPhrase(tuple(PhraseForm(ids, WORDS[ids[-1]].strip()) for ids in forms), count)


def source(constraints: Constraints, max_tokens: int = 5, num_hypotheses: int = 1, number: int = 0) -> Source:
    limits = TargetLimits(max_tokens, 0)
    return Source((number,), limits, (BOS,), num_hypotheses=num_hypotheses, constraints=constraints)


def open_empty(model: LanguageModel, beam_size: int) -> AnyLane[list[int]]:
    kind = SearchKind(beam_size, method=Method.CONSTRAINED)
    return ConstrainedLane(kind, FakeStepper(model, [], beam_size), vocabulary(model.vocab_size))


def search(model: LanguageModel, wanted: Source, beam_size: int) -> Hypothesis:
    """Return the best hypothesis."""
    lane = open_empty(model, beam_size)
    join(lane, [wanted])
    (found,) = run_to_end(lane)
    return found.hypotheses[0]


def occurrences(ids: tuple[int, ...], required: RequiredPhrase) -> int:
    """Places where a form is and no word goes on, without overlap."""
    places = sorted(
        (start + len(form.ids), start)
        for form in required.forms
        for start in range(len(ids))
        if ids[start : start + len(form.ids)] == form.ids
        and not WORDS[(*ids, EOS)[start + len(form.ids)]].isalpha()
    )
    count = free = 0
    for end, start in places:
        if start >= free:
            count, free = count + 1, end
    return count


def is_allowed(ids: tuple[int, ...], constraints: Constraints) -> bool:
    text = "".join(WORDS[one] for one in ids)
    return all(occurrences(ids, one) >= one.count for one in constraints.required) and not any(
        word in text.split() for word in constraints.forbidden
    )


ids = st.integers(2, VOCAB_SIZE - 1)
constraints = st.builds(
    Constraints,
    language=st.just("en"),
    required=st.lists(
        st.builds(
            lambda forms, count: phrase(*forms, count=count),
            st.lists(st.lists(ids, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2),
            st.integers(1, 2),
        ),
        max_size=2,
    ).map(tuple),
    forbidden=st.lists(st.sampled_from(["a", "b"]), max_size=1).map(tuple),
)
models = st.builds(
    RandomModel,
    vocab_size=st.just(VOCAB_SIZE),
    seed=st.integers(0, 2**32 - 1),
    sharpness=st.sampled_from([1.0, 3.0]),
)


def total(model: LanguageModel, target: Prefix) -> float:
    return sum(float(model.logprobs(0, target[:end])[token]) for end, token in enumerate(target))


@settings(max_examples=40)
@given(inner=models, wanted=constraints)
def test_a_beam_that_holds_every_target_finds_the_best_of_all_allowed_ones(
    inner: RandomModel, wanted: Constraints
) -> None:
    # It would rather not end, so that no hypothesis is dropped for being a whole sentence.
    model, most = ShiftedModel(inner, {EOS: -20.0}), 4
    tokens = [token for token in range(VOCAB_SIZE) if token != EOS]
    targets = [target for length in range(most) for target in itertools.product(tokens, repeat=length)]
    totals = [total(model, (*target, EOS)) for target in targets if is_allowed(target, wanted)]
    cut = itertools.product(tokens, repeat=most)
    totals += [total(model, target) for target in cut if is_allowed(target, wanted)]

    found = search(model, replace(source(wanted, most), length_penalty=0.0), 256)

    if totals:
        assert is_allowed(found.ids, wanted)
        assert found.logprob == pytest.approx(max(totals), abs=1e-4)
    else:
        assert not is_allowed(found.ids, wanted)


@settings(max_examples=40)
@given(
    model=models,
    wanted=st.lists(constraints, min_size=1, max_size=4),
    delays=st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
def test_required_phrases_are_there_and_forbidden_ones_are_not_in_any_company(
    model: RandomModel, wanted: list[Constraints], delays: list[int]
) -> None:
    sources = [
        source(one, max_tokens=24, num_hypotheses=2, number=number) for number, one in enumerate(wanted)
    ]

    for found in check_any_company(lambda: open_empty(model, 4), sources, delays[: len(sources)]):
        own = found.source.constraints
        assert own is not None
        assert has_conflict(own) or all(is_allowed(one.ids, own) for one in found.hypotheses)


def has_conflict(wanted: Constraints) -> bool:
    """Whether every form of a required phrase has a forbidden word."""
    return any(
        any(WORDS[one].strip() in wanted.forbidden for one in form.ids)
        for required in wanted.required
        for form in required.forms
    )


def test_a_phrase_may_be_inflected_but_not_be_part_of_another_word() -> None:
    start = Progress.start(Constraints("en", (phrase((A,)),)))
    is_inflected = partial(vocabulary(8).is_inflected, "en")
    after_word = start.after(A, "", is_inflected)

    plural, other = after_word.after(ENDING_S, "s", is_inflected), after_word.after(X, "x", is_inflected)

    assert [after_word.num_missing, plural.num_missing, other.num_missing] == [0, 0, 1]
    assert plural.after(B, "", is_inflected).missing == (0,)


def test_a_phrase_that_is_required_twice_does_not_share_its_words() -> None:
    start = Progress.start(Constraints("en", (phrase((A, A), count=2),)))
    after = partial(Progress.after, continuation="", is_inflected=lambda *_: False)
    steps = itertools.accumulate((A, A, A, A, B), after, initial=start)
    assert [one.num_missing for one in steps] == [2, 2, 1, 1, 0, 0]


def test_no_target_is_shorter_than_its_minimum() -> None:
    model = ShiftedModel(RandomModel(VOCAB_SIZE, 0, 1.0), {EOS: 20.0})
    wanted = replace(source(Constraints("en")), limits=TargetLimits(5, 3))
    assert len(search(model, wanted, 4).ids) == 3


def test_a_sentence_that_the_model_would_end_gets_no_phrase_appended() -> None:
    """The model writes `a b` and puts `c` after `a` rather than after `b`, where it would end."""
    table = {
        (0, ()): {A: 1.0},
        (0, (A,)): {B: 0.97, C: 0.03},
        (0, (A, B)): {EOS: 0.6, C: 0.4},
        (0, (A, B, C)): {EOS: 1.0},
        (0, (A, C)): {B: 0.9, EOS: 0.1},
        (0, (A, C, B)): {EOS: 1.0},
    }
    found = search(TableModel(8, table), source(Constraints("en", (phrase((C,)),))), 4)

    assert found.ids == (A, C, B)


@dataclass(frozen=True)
class OnlyBegins:
    """A model that often begins a phrase and hardly ever goes on with it."""

    vocab_size: int = len(WORDS)

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        del source, prefix
        logprobs = np.full(self.vocab_size, -20, np.float32)
        logprobs[[A, EOS]] = -0.7
        return logprobs


def test_a_long_phrase_is_completed_although_to_begin_it_again_is_more_probable() -> None:
    wanted = Constraints("en", (phrase((A, B, C, B)),))

    found = search(OnlyBegins(), source(wanted, max_tokens=30), 4)

    assert occurrences(found.ids, wanted.required[0]) == 1


def test_a_target_that_is_cut_has_the_phrases_that_fit() -> None:
    wanted = Constraints("en", (phrase((A, B, C)), phrase((A,))))
    found = search(RandomModel(5, seed=3), source(wanted, max_tokens=2), 4)

    assert found.finish_reason is FinishReason.LENGTH
    assert len(found.ids) == 2
