"""What a target must begin with is said, counted and kept, and costs no log-probability.

That random prefixes are kept to by every strategy is what the tests against plain Python show, as the sources
drawn there have some.
"""

import math

import pytest

from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, TableModel

TARGET = TargetVocabulary(EOS, 6)
KINDS = [
    SearchKind(1),
    SearchKind(3),
    SearchKind(1, method=Method.FILTERED),
    SearchKind(3, method=Method.FILTERED),
    SearchKind(3, method=Method.SAMPLE),
]
MODEL = TableModel(
    6,
    {
        (0, ()): {2: 0.9, 3: 0.1},
        (0, (2,)): {2: 1.0},
        (0, (3,)): {4: 1.0},
        (0, (3, 4)): {5: 0.5, 2: 0.5},
        (0, (3, 4, 5)): {EOS: 0.9, 2: 0.1},
    },
)


def source_of(prefix: tuple[int, ...], begin: tuple[int, ...] = (BOS,), max_tokens: int = 9) -> Source:
    return Source(
        (0,),
        TargetLimits(max_tokens, 0),
        begin,
        repetition_penalty=1.5,
        prefix=prefix,
        sampling=Sampling(top_k=1),
    )


def search_one(kind: SearchKind, source: Source) -> Hypothesis:
    stepper = FakeStepper(MODEL, [0], kind.beam_size)
    ((best, *_),) = search(stepper, make_strategy([source], kind, TARGET))
    return best


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_prefix_is_said_counted_and_kept_at_no_cost(kind: SearchKind) -> None:
    best = search_one(kind, source_of((3, 4, 5)))

    assert best.ids == (3, 4, 5)
    assert best.num_tokens == 4
    assert best.logprob == pytest.approx(math.log(0.9))
    assert best.score == pytest.approx(math.log(0.9) / 4)
    assert best.finish_reason is FinishReason.STOP


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_prefix_comes_after_what_languages_force_which_is_left_out(kind: SearchKind) -> None:
    best = search_one(kind, source_of((4, 5), begin=(BOS, 3)))

    assert (best.ids, best.num_tokens) == ((4, 5), 4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_prefix_may_leave_room_for_one_token(kind: SearchKind) -> None:
    best = search_one(kind, source_of((3, 4, 5), max_tokens=4))

    assert (best.ids, best.finish_reason) == ((3, 4, 5), FinishReason.STOP)


def test_a_prefix_that_leaves_no_room_is_refused_by_name() -> None:
    with pytest.raises(InputError) as raised:
        source_of((4, 5), begin=(BOS, 3), max_tokens=3)

    assert raised.value.field == "target_prefix"
    assert raised.value.problem == (
        "2 tokens are too many for a target of at most 2; shorten the prefix, or increase max_length"
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_prefix_with_an_end_of_sentence_is_refused_before_anything_joins(kind: SearchKind) -> None:
    with pytest.raises(ValueError, match="contain the end-of-sentence id"):
        make_strategy([source_of(()), source_of((2, EOS))], kind, TARGET)
