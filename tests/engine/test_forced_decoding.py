"""Words that say the same, tokens with their log-probabilities, given beginnings and given targets."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dragoman import DecodingOptions, EngineRequest, InputError, SegmentTranslation, Translation, Translator
from dragoman.decoding.options import Sampling
from dragoman.native.library import best_kernels
from dragoman.pipeline.postprocessing import link_words
from dragoman.scheduling.metrics import EngineMetrics, SegmentRecord
from dragoman.terms import Term, Terminology
from dragoman.text.words import Word
from dragoman.types import Link, Method, Span, Splitting
from tests.engine.conftest import INT8, TIMEOUT_S

TEXT = "Guten Morgen! Das ist ein Haus.\n42\nDer Hund schläft."
READ = DecodingOptions(return_alignment=True, return_tokens=True, use_shortlist=False)


def word(start: int, end: int, *pieces: int) -> Word:
    return Word(Span(start, end), pieces)


def test_every_target_word_goes_with_the_source_word_it_attends_to_most() -> None:
    source = [word(0, 3, 0, 1), word(4, 7, 2)]
    target = [word(0, 2, 0), word(3, 5, 1, 2)]
    attention = np.array([[0.2, 0.3, 0.4], [0.1, 0.1, 0.2], [0.2, 0.1, 0.4]], np.float32)

    links = link_words(attention, source, target)

    assert links == (Link(Span(0, 3), Span(0, 2)), Link(Span(4, 7), Span(3, 5)))
    assert link_words(attention, [], target) == link_words(attention, source, []) == ()


def check(text: str, translation: Translation) -> None:
    """Links and tokens fit the texts and scores that they are of."""
    for segment in translation.segments:
        assert text[slice(*segment.source_span)] == segment.source
        assert translation.text[slice(*segment.span)] == segment.text
        assert segment.links is not None
        assert segment.tokens is not None
        if segment.source == "42":
            assert segment.links == ()
            assert segment.tokens == ()
            continue
        linked = "".join(translation.text[slice(*link.target)] for link in segment.links)
        assert linked == segment.text.replace(" ", "")
        assert {text[slice(*link.source)] for link in segment.links} <= set(segment.source.split()) | {
            part for each in segment.source.split() for part in (each[:-1], each[-1])
        }
        logprobs = [token.logprob for token in segment.tokens]
        assert segment.score == pytest.approx(sum(logprobs) / len(logprobs), abs=2e-3)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_links_and_tokens_are_those_of_the_translation(tiny: Translator, beam_size: int) -> None:
    plain = DecodingOptions(beam_size=beam_size, length_penalty=1.0, use_shortlist=False)
    options = replace(plain, return_alignment=True, return_tokens=True)

    reported: list[SegmentTranslation] = []

    waited = tiny.translate(TEXT, options)

    assert waited.text == tiny.translate(TEXT, plain).text
    check(TEXT, waited)
    assert tiny.submit(TEXT, EngineRequest(options, on_segment=reported.append)).result(TIMEOUT_S) == waited
    assert reported == list(waited.segments)
    assert list(tiny.translate_many([TEXT], EngineRequest(options))) == [waited]


@pytest.mark.parametrize("bundle", ["tiny", "tiny_int8"])
@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(
    "options",
    [
        DecodingOptions(),
        DecodingOptions(target_prefix="Good", max_length=4),
        DecodingOptions(terminology=Terminology((Term("Haus", ("dog",)),))),
    ],
    ids=["plain", "prefix", "terms"],
)
def test_alignment_alone_is_the_same_as_with_tokens_and_neither_is_there_unless_requested(
    bundle: str, beam_size: int, options: DecodingOptions, request: pytest.FixtureRequest
) -> None:
    translator: Translator = request.getfixturevalue(bundle)
    both, aligned, neither = (
        translator.translate(
            TEXT, replace(options, beam_size=beam_size, return_tokens=tokens, return_alignment=alignment)
        )
        for tokens, alignment in ((True, True), (False, True), (False, False))
    )

    assert both.text == aligned.text == neither.text
    assert [segment.links for segment in aligned.segments] == [segment.links for segment in both.segments]
    assert {segment.tokens for segment in aligned.segments} == {None}
    assert {(segment.links, segment.tokens) for segment in neither.segments} == {(None, None)}


class Methods(EngineMetrics):
    """Remembers the method of each source."""

    def __init__(self) -> None:
        self.found: set[Method] = set()

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        self.found |= {record.kind.method for record in records}


@pytest.mark.skipif(not best_kernels(), reason="there are no kernels for this processor")
@pytest.mark.parametrize("beam_size", [1, 4])
def test_on_native_kernels_an_alignment_comes_with_the_search(beam_size: int) -> None:
    methods = Methods()
    with Translator.open(INT8, engine_metrics=methods) as translator:
        translator.translate(TEXT, DecodingOptions(beam_size=beam_size, return_alignment=True))

    assert methods.found == {Method.SEARCH}


def test_a_text_cancelled_while_it_is_read_ends(tiny: Translator) -> None:
    coming = [tiny.submit(TEXT, EngineRequest(READ)) for _ in range(8)]
    for future in coming:
        future.cancel()

    assert tiny.submit(TEXT, EngineRequest(READ)).result(TIMEOUT_S).text == tiny.translate(TEXT).text


def test_the_first_segment_begins_with_the_target_prefix(tiny: Translator) -> None:
    translation = tiny.translate(
        "42\nDas ist ein Haus.\nDer Hund schläft.", DecodingOptions(target_prefix="The house")
    )

    assert translation.segments[1].text.startswith("The house")
    assert translation.segments[2].text == "The dog is sleeping."


def test_a_prefix_that_fills_the_length_limit_is_rejected(tiny: Translator) -> None:
    with pytest.raises(InputError, match="target_prefix"):
        tiny.translate("Ja.", DecodingOptions(target_prefix="The house is a house.", max_length=2))
    with pytest.raises(InputError, match=r"target_prefix: .*surrogate"):
        tiny.translate("Ja.", DecodingOptions(target_prefix="\ud800"))


def test_a_seed_draws_the_same_again_and_segments_and_other_seeds_something_else(tiny: Translator) -> None:
    def drawn(seed: int) -> list[str]:
        options = DecodingOptions(sampling=Sampling(temperature=5.0, seed=seed), max_length=12)
        translation = tiny.translate("\n".join(["Das ist ein Haus."] * 6), options)
        return [segment.text for segment in translation.segments]

    assert len(set(drawn(1))) > 1
    assert drawn(1) == drawn(1) != drawn(2)


def test_line_breaks_may_be_white_space(tiny: Translator) -> None:
    text = "Das ist\nein Haus."

    assert tiny.translate(text, DecodingOptions(splitting=Splitting.NO_NEWLINES)).text == "This is a house."
    assert "\n" in tiny.translate(text).text


def test_a_given_target_is_scored_as_the_search_scored_it(tiny: Translator) -> None:
    searched = tiny.translate("Das ist ein Haus.", DecodingOptions(length_penalty=1.0, use_shortlist=False))

    scored = tiny.score("Das ist ein Haus.", searched.text).result(TIMEOUT_S)

    assert scored.score == pytest.approx(searched.score, abs=1e-5)
    assert scored.tokens is not None
    assert math.fsum(token.logprob for token in scored.tokens) == pytest.approx(
        searched.segments[0].score * scored.num_target_tokens if searched.segments[0].score else 0, abs=1e-4
    )
    worse = tiny.score("Das ist ein Haus.", "The dog is sleeping.").result(TIMEOUT_S)
    assert worse.score is not None
    assert worse.score < -1 < (scored.score or 0)
    empty = tiny.score("Das ist ein Haus.", "").result(TIMEOUT_S)
    assert (empty.text, empty.num_target_tokens, empty.links) == ("", 1, ())


@pytest.mark.parametrize(
    ("source", "target", "field"),
    [
        ("wort " * 2000, "a", "source"),
        ("a", "word " * 2000, "target"),
        ("\ud800", "a", "source"),
        ("a", "\ud800", "target"),
    ],
)
def test_an_unscorable_pair_is_rejected_by_its_field(
    tiny: Translator, source: str, target: str, field: str
) -> None:
    with pytest.raises(InputError) as refused:
        tiny.score(source, target)

    assert refused.value.field == field
