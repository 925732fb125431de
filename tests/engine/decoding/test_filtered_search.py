"""Searches that leave tokens out, by filters or as bytes of no character, against plain Python."""

import codecs
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.filters import find_repeats, round_up
from dragoman.decoding.loop import AnyLane, open_strategy
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.engine.decoding import reference_search
from tests.engine.decoding.fake_lanes import KINDS, check_any_company, lane_over, search_with
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
    sentences,
    wide_models,
)
from tests.engine.decoding.random_sources import filtered_sources


def search_filtered(
    model: RandomModel | TableModel, sources: list[Source], beam_size: int
) -> list[list[Hypothesis]]:
    return search_with(FakeStepper(model, range(len(sources)), beam_size), sources, Method.FILTERED)


@given(wide_models, st.integers(1, 5), st.data())
@settings(max_examples=120)
def test_a_search_with_filters_finds_what_plain_python_does(
    model: RandomModel, beam_size: int, data: st.DataObject
) -> None:
    sources = data.draw(st.lists(filtered_sources(beam_size), min_size=1, max_size=3))

    results = search_filtered(model, sources, beam_size)

    for number, (source, hypotheses) in enumerate(zip(sources, results, strict=True)):
        filtered = reference_search.FilteredModel(model, source)
        expected = reference_search.best(filtered, number, source, beam_size)
        reference_search.check_equal(hypotheses, expected, tolerance=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_filters_that_do_nothing_find_what_a_plain_search_does(beam_size: int) -> None:
    sources = [Source((), TargetLimits(9, 3), (BOS,)) for _ in range(5)]
    plain, filtered = (FakeStepper(RandomModel(30, seed=4), range(5), beam_size) for _ in range(2))

    assert search_with(filtered, sources, Method.FILTERED) == search_with(plain, sources)
    assert max(filtered.num_best) == max(plain.num_best) == beam_size + 1


@pytest.mark.parametrize("method", [Method.FILTERED, Method.SAMPLE])
def test_forced_tokens_pass_the_filters(method: Method) -> None:
    plain = Source((), TargetLimits(9, 0), (BOS, 2, 2), prefix=(2, 2), sampling=Sampling())
    source = replace(plain, repetition_penalty=5.0, no_repeat_ngram_size=1)

    ((hypothesis,),) = search_with(FakeStepper(sentences(5, [(2, 2, 2, 2, 3)]), [0]), [source], method)

    assert (hypothesis.ids, hypothesis.logprob) == ((2, 2, 3), 0.0)


def test_the_number_of_candidates_has_few_values() -> None:
    stepper = FakeStepper(RandomModel(500, seed=2), [0, 1], 2)
    limits = TargetLimits(100, 99)
    filters: list[dict[str, Any]] = [{"repetition_penalty": 1.3}, {"no_repeat_ngram_size": 2}]

    search_with(stepper, [replace(Source((), limits, (BOS,)), **each) for each in filters], Method.FILTERED)

    assert set(stepper.num_best) == {8, 16, 32, 64, 128}
    assert [round_up(wanted, 100) for wanted in (1, 8, 9, 64, 65, 400)] == [8, 8, 16, 64, 100, 100]


def test_ngrams_alone_ask_for_no_more_than_they_forbid() -> None:
    stepper = FakeStepper(sentences(500, [(2, 3, 2, 4, 2, 5, *range(10, 40))]), [0])

    search_with(stepper, [Source((), TargetLimits(50, 0), (BOS,), no_repeat_ngram_size=2)], Method.FILTERED)

    assert set(stepper.num_best) == {8}


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 5)),
        min_size=1,
        max_size=5,
    )
)
def test_repeats_are_those_that_complete_an_ngram_read_before(rows: list[tuple[list[int], int]]) -> None:
    width = max(len(read) for read, _ in rows)
    padded = np.array([read + [0] * (width - len(read)) for read, _ in rows])
    lengths, sizes = np.array([len(read) for read, _ in rows]), np.array([size for _, size in rows])

    actual = find_repeats(padded, lengths, sizes)

    for (read, size), is_repeat in zip(rows, actual.tolist(), strict=True):
        begun = read[len(read) - size + 1 :]
        expected = [
            bool(size) and place + 1 >= size and place < len(read) and read[place - size + 1 : place] == begun
            for place in range(width)
        ]
        assert is_repeat == expected


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
        spelled = (
            spell(before, BYTES[index], can_spell_replacement=can_spell_replacement)
            for before in (begun, b"")
        )
        begun = next((after for after in spelled if after is not None), b"")
    return begun


@dataclass(frozen=True)
class Constrained:
    """A model of which only that is left which may follow, among the candidates that are looked at."""

    model: LanguageModel
    source: Source

    @property
    def vocab_size(self) -> int:
        return self.model.vocab_size

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
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
@settings(max_examples=60)
def test_a_search_finds_what_plain_python_does_among_what_may_follow(
    model: RandomModel, beam_size: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.lists(sources(beam_size), min_size=1, max_size=4))

    results = search_with(FakeStepper(model, range(len(wanted)), beam_size), wanted, target=TARGET)

    for number, (source, hypotheses) in enumerate(zip(wanted, results, strict=True)):
        expected = reference_search.best(Constrained(model, source), number, source, beam_size)
        reference_search.check_equal(hypotheses, expected, tolerance=1e-5)


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
@settings(max_examples=25)
def test_spelled_bytes_are_utf8_without_replacement_characters(
    kind: SearchKind, seed: int, data: st.DataObject
) -> None:
    # Some word is always among the best, so that there is always something that may follow.
    model = ShiftedModel(RandomModel(SIZE, seed, sharpness=2.0), dict.fromkeys(range(2, FIRST_BYTE_ID), 3.0))
    wanted = [draw_source(data, kind) for _ in range(3)]

    results = search_with(FakeStepper(model, range(3), kind.beam_size), wanted, kind.method, TARGET)

    for source, hypotheses in zip(wanted, results, strict=True):
        for one in hypotheses:
            said = one.ids[len(source.prefix) :]
            runs = "".join(chr(BYTES[token]) if token in BYTES else " " for token in said).encode("latin1")
            is_whole = one.finish_reason is FinishReason.STOP  # else the last character may not be
            text = codecs.getincrementaldecoder("utf8")().decode(runs, final=is_whole)
            assert source.can_spell_replacement or "\ufffd" not in text


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(model=models, delays=st.lists(st.integers(0, 5), min_size=1, max_size=5), data=st.data())
@settings(max_examples=25)
def test_allowed_bytes_of_a_source_do_not_depend_on_others(
    kind: SearchKind, model: RandomModel, delays: list[int], data: st.DataObject
) -> None:
    wanted = [replace(draw_source(data, kind), ids=(number,)) for number in range(len(delays))]

    def open_empty() -> AnyLane[list[int]]:
        return lane_over(FakeStepper(model, [], kind.beam_size), kind.method, TARGET)

    check_any_company(open_empty, wanted, delays, num_dropped=1)


@pytest.mark.parametrize("beam_size", [1, 4])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_where_no_byte_is_likely_nothing_changes(beam_size: int, seed: int) -> None:
    model = ShiftedModel(RandomModel(SIZE, seed), dict.fromkeys(range(FIRST_BYTE_ID, SIZE), -20.0))
    wanted = [Source((), TargetLimits(9, 1), (BOS,), num_hypotheses=beam_size) for _ in range(3)]
    with_bytes, without = (
        search_with(FakeStepper(model, range(3), beam_size), wanted, target=target)
        for target in (TARGET, TargetVocabulary(EOS, SIZE))
    )

    assert with_bytes == without
    assert open_strategy(beam_size, TargetVocabulary(EOS, SIZE)).num_best == (1 if beam_size == 1 else 5)
