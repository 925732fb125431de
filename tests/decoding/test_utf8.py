"""What a search spells in bytes is whole characters, against plain Python and Python's own decoder."""

import codecs
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.decoding.loop import FinishedSource, Lane, make_strategy, open_strategy, search
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.decoding import reference_search
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, LanguageModel, Prefix, RandomModel, TableModel

FIRST_BYTE_ID = 6
SPELLED = bytes.fromhex("00 41 c3 a9 80 bf e2 82 ac f0 9f 98 ef bd bc ed a0 f4 90 c0")
BYTES = {FIRST_BYTE_ID + place: value for place, value in enumerate(SPELLED)}
ID_OF = {value: index for index, value in BYTES.items()}
SIZE = FIRST_BYTE_ID + len(SPELLED)
TARGET = TargetVocabulary(EOS, SIZE, BYTES)
CONTROLS = {*map(chr, range(32)), "\x7f"} - set("\t\n\r")
BETWEEN, INSIDE = 8, 64
"""Candidates looked at by beams of up to four."""

models = st.builds(
    RandomModel,
    vocab_size=st.just(SIZE),
    seed=st.integers(0, 2**32 - 1),
    sharpness=st.sampled_from([0.0, 1.0, 3.0]),
    is_coarse=st.booleans(),
    num_impossible=st.integers(0, 3),
)


def ids_of(text: str) -> Prefix:
    return tuple(ID_OF[value] for value in text.encode())


@st.composite
def sources(draw: st.DrawFn, beam_size: int) -> Source:
    prefix = draw(st.sampled_from(["", "é", "€A", "\ufffd"]))
    num_forced = len(prefix.encode())
    max_tokens = num_forced + draw(st.integers(1, 9))
    return Source(
        ids=(),
        limits=TargetLimits(max_tokens, draw(st.integers(0, max_tokens))),
        begin=(BOS,),
        num_hypotheses=draw(st.integers(1, beam_size)),
        prefix=ids_of(prefix),
        can_spell_replacement=draw(st.booleans()),
    )


def spell(begun: bytes, byte: int, *, can_spell_replacement: bool) -> bytes | None:
    """The bytes of a character not yet whole, after one more; None where it may not follow."""
    encoded = begun + bytes([byte])
    character = _decode_value(encoded)
    if character in {None, *CONTROLS, "\ufffe", "\uffff"} or (
        character == "\ufffd" and not can_spell_replacement
    ):
        return None
    return b"" if character else encoded


def _decode_value(encoded: bytes) -> str | None:
    """A character, nothing if more bytes can make it one, or None."""
    for num_missing in range(4):
        for missing in (b"\x80" * num_missing, b"\xbf" * num_missing):
            try:
                character = (encoded + missing).decode()
            except UnicodeDecodeError:
                continue
            return "" if num_missing else character
    return None


def begun_by(ids: Prefix, *, can_spell_replacement: bool) -> bytes:
    """What of a character not yet whole stands at the end."""
    begun = b""
    for index in ids:
        if index not in BYTES:
            begun = b""
            continue
        after = spell(begun, BYTES[index], can_spell_replacement=can_spell_replacement)
        begun = (
            after
            if after is not None
            else spell(b"", BYTES[index], can_spell_replacement=can_spell_replacement) or b""
        )
    return begun


@dataclass(frozen=True)
class Constrained:
    """A model of which only that is left which may follow, among the candidates that are looked at."""

    model: LanguageModel
    source: Source

    @property
    def vocab_size(self) -> int:
        return self.model.vocab_size

    def logprobs(self, source: int, prefix: Prefix) -> NDArray[np.float32]:
        logprobs = self.model.logprobs(source, prefix)
        begun = begun_by(prefix, can_spell_replacement=self.source.can_spell_replacement)
        looked_at = np.argsort(-logprobs, kind="stable")[: INSIDE if begun else BETWEEN].tolist()
        allowed = [token for token in looked_at if self._may_follow(begun, token)]
        if not any(logprobs[token] > -math.inf for token in allowed if token != EOS):
            allowed = looked_at
        left = np.full(self.vocab_size, -np.inf, np.float32)
        left[allowed] = logprobs[allowed]
        return left

    def _may_follow(self, begun: bytes, token: int) -> bool:
        if token not in BYTES:
            return not begun
        return spell(begun, BYTES[token], can_spell_replacement=self.source.can_spell_replacement) is not None


@given(models, st.integers(1, 4), st.data())
@settings(max_examples=150)
def test_a_search_finds_what_plain_python_does_among_what_may_follow(
    model: RandomModel, beam_size: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.lists(sources(beam_size), min_size=1, max_size=4))

    results = search(
        FakeStepper(model, range(len(wanted)), beam_size), make_strategy(wanted, beam_size, TARGET)
    )

    for number, (source, hypotheses) in enumerate(zip(wanted, results, strict=True)):
        constrained = Constrained(model, source)
        if beam_size == 1:
            expected = [reference_search.greedy(constrained, number, source)]
        else:
            expected, _ = reference_search.beam(constrained, number, source, beam_size)
        if not expected or expected[0].score == -math.inf:
            assert hypotheses[0].logprob == -math.inf
            continue
        assert [one.ids for one in hypotheses] == [one.ids for one in expected]
        assert [one.finish_reason for one in hypotheses] == [one.finish_reason for one in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-5)


KINDS = [
    SearchKind(1),
    SearchKind(4),
    SearchKind(1, method=Method.FILTERED),
    SearchKind(3, method=Method.FILTERED),
    SearchKind(3, method=Method.SAMPLE),
]


def draw_source(data: st.DataObject, kind: SearchKind) -> Source:
    return replace(
        data.draw(sources(kind.beam_size)),
        num_hypotheses=kind.beam_size,
        repetition_penalty=data.draw(st.sampled_from([1.0, 1.5])),
        sampling=Sampling(top_k=data.draw(st.sampled_from([0, 4, 8]))),
        seed=data.draw(st.integers(0, 99)),
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
@settings(max_examples=60)
def test_bytes_that_are_said_are_utf8_and_no_replacement_character(
    kind: SearchKind, seed: int, data: st.DataObject
) -> None:
    # Some word is always among the best, so that there is always something that may follow.
    model = Biased(RandomModel(SIZE, seed, sharpness=2.0), np.float32(3.0))
    wanted = [draw_source(data, kind) for _ in range(3)]

    strategy = make_strategy(wanted, kind, TARGET)
    results = search(FakeStepper(model, range(len(wanted)), kind.beam_size), strategy)

    for source, hypotheses in zip(wanted, results, strict=True):
        for one in hypotheses:
            said = one.ids[len(source.prefix) :]
            runs = "".join(chr(BYTES[token]) if token in BYTES else " " for token in said).encode("latin1")
            if one.finish_reason is FinishReason.LENGTH:
                text = codecs.getincrementaldecoder("utf8")().decode(runs)  # the last may not be whole
            else:
                text = runs.decode()
            assert source.can_spell_replacement or "\ufffd" not in text


@dataclass(frozen=True)
class Biased:
    """A model that likes words more, and within a character what may follow less than the rest."""

    model: RandomModel
    bias: np.float32

    @property
    def vocab_size(self) -> int:
        return self.model.vocab_size

    def logprobs(self, source: int, prefix: Prefix) -> NDArray[np.float32]:
        logprobs = self.model.logprobs(source, prefix).copy()
        logprobs[2:FIRST_BYTE_ID] += self.bias
        return logprobs - np.float32(self.bias)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(model=models, delays=st.lists(st.integers(0, 5), min_size=1, max_size=5), data=st.data())
@settings(max_examples=60)
def test_what_may_follow_for_one_source_is_nothing_to_another_whenever_it_joins(
    kind: SearchKind, model: RandomModel, delays: list[int], data: st.DataObject
) -> None:
    wanted = [replace(draw_source(data, kind), ids=(number,)) for number in range(len(delays))]
    lane = Lane(kind, FakeStepper(model, [], kind.beam_size), open_strategy(kind, TARGET))

    found: list[FinishedSource] = []
    for source, delay in zip(wanted, delays, strict=True):
        lane.join([source], [source.ids[0]])
        for _ in range(delay):
            found += lane.step() if lane.sources else []
    lane.remove({wanted[0]})
    while lane.sources:
        found += lane.step()

    for one in found:
        alone = make_strategy([one.source], kind, TARGET)
        stepper = FakeStepper(model, one.source.ids, kind.beam_size)
        assert [one.hypotheses] == search(stepper, alone)


@pytest.mark.parametrize("beam_size", [1, 4])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_where_no_byte_is_likely_nothing_changes(beam_size: int, seed: int) -> None:
    model = Biased(RandomModel(SIZE, seed), np.float32(20.0))
    wanted = [Source((), TargetLimits(9, 1), (BOS,), num_hypotheses=beam_size) for _ in range(3)]

    def found(target: TargetVocabulary) -> list[list[Hypothesis]]:
        return search(FakeStepper(model, range(3), beam_size), make_strategy(wanted, beam_size, target))

    assert found(TARGET) == found(TargetVocabulary(EOS, SIZE))


def test_a_vocabulary_without_bytes_asks_for_no_more_candidates() -> None:
    assert open_strategy(1, TargetVocabulary(EOS, SIZE)).num_best == 1
    assert open_strategy(4, TargetVocabulary(EOS, SIZE)).num_best == 5


@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_sentence_ends_within_a_character(beam_size: int) -> None:
    """The model would end after two bytes of three; the third is the only one that may follow."""
    e2, x82, xac = ids_of("€")
    model = TableModel(
        SIZE, {(0, ()): {e2: 1.0}, (0, (e2,)): {x82: 1.0}, (0, (e2, x82)): {EOS: 0.9, xac: 0.1}}
    )

    ((best, *_),) = search(
        FakeStepper(model, [0], beam_size),
        make_strategy([Source((), TargetLimits(8, 1), (BOS,))], beam_size, TARGET),
    )

    assert best.ids == (e2, x82, xac)
    assert best.finish_reason is FinishReason.STOP
    assert best.logprob == pytest.approx(math.log(0.1))


def test_where_nothing_may_follow_the_target_goes_on_with_what_there_is() -> None:
    e2, x82, _ = ids_of("€")
    word = 4
    model = TableModel(SIZE, {(0, ()): {e2: 1.0}, (0, (e2,)): {x82: 1.0}, (0, (e2, x82)): {word: 1.0}})

    ((best,),) = search(
        FakeStepper(model, [0]), make_strategy([Source((), TargetLimits(8, 1), (BOS,))], 1, TARGET)
    )

    assert best.ids == (e2, x82, word)
    assert best.logprob == 0.0
