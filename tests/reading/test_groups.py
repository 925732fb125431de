"""Short neighbours are read together, and no sentence is lost."""

import shutil
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError
from dragoman.languages import Languages
from dragoman.loading import open_tokenizers
from dragoman.pipeline.engine_request import DEFAULT_DECODING, EngineRequest
from dragoman.pipeline.preparation import PreparedText, Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.reading.reader import Reader
from dragoman.reading.reading_file import AS_WRITTEN, LanguageReading, Reading
from dragoman.routing.pivot_translation import request_of_step
from dragoman.routing.routes import Offer, Route, Step
from dragoman.text.segmentation import segment
from dragoman.types import Pair, Splitting
from export.bundle import write_reading
from tests.paths import ROOT, TINY
from tests.reading.bundled import FOLDERS

PAIR = Pair("en", "de")
NO_LANGUAGES = Languages({}, {})
TRIALS = ROOT / "bench" / "everyday.tsv"
GROUP_TOKENS = 12
SENTENCES = ["It is red.", "I saw him.", "Say NO to it.", "Wait.", "12.", "But why is it so very cold today?"]
TEXTS = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.sampled_from([" ", " ", " ", "  ", "\n", "\t"])), max_size=8
).map(lambda parts: "".join(sentence + gap for sentence, gap in parts))
TINY_TEXTS = ["Guten Morgen! Das ist ein Haus.\n42\nDer Hund schläft. Ja.", "Ja. Nein. Ja. Guten Abend!"]


@cache
def preparer(group_tokens: int, group_words: frozenset[str]) -> Preparer:
    bundle = open_bundle(FOLDERS["en"])
    language = LanguageReading(has_respelling=True, group_tokens=group_tokens, group_words=group_words)
    reading = Reading({"en": language})
    manifest = bundle.manifest
    return Preparer(manifest.languages, manifest.limits, Reader(open_tokenizers(bundle)[0], reading))


def prepared(
    texts: Sequence[str],
    options: DecodingOptions = DEFAULT_DECODING,
    group_tokens: int = GROUP_TOKENS,
    group_words: frozenset[str] = frozenset(),
) -> list[PreparedText]:
    found = preparer(group_tokens, group_words).prepare(texts, PAIR, None, options)
    return [one for one in found if isinstance(one, PreparedText)]


@given(text=TEXTS)
def test_a_group_is_of_neighbours_in_a_paragraph_and_no_sentence_is_lost(text: str) -> None:
    (grouped,) = prepared([text])

    assert grouped.document.rejoin(grouped.document.segments) == text
    alone = [one for whole in grouped.document.segments for one in segment(whole, "en").segments]
    assert alone == [*segment(text, "en").segments]
    for source in grouped.sources:
        if isinstance(source, SegmentInput) and source.sentences:
            assert len(source.ids) - 1 <= GROUP_TOKENS
            assert all(one.number < other.number for one, other in pairwise(source.sentences))


@given(texts=st.lists(TEXTS, max_size=4))
def test_a_text_has_the_same_segments_alone_and_in_company(texts: list[str]) -> None:
    assert prepared(texts) == [one for text in texts for one in prepared([text])]


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("I have a car. It is red.", ["I have a car. It is red."]),
        ("I have a car. Is it red?", ["I have a car. Is it red?"]),
        ("It is red. I like red.", ["It is red.", "I like red."]),
        ("Wait. I see the IT guy.", ["Wait.", "I see the IT guy."]),
    ],
)
def test_a_sentence_is_read_with_the_one_before_only_if_it_has_one_of_the_words(
    text: str, segments: list[str]
) -> None:
    (grouped,) = prepared([text], group_words=frozenset(["it"]))

    assert [*grouped.document.segments] == segments


@pytest.mark.parametrize("count", range(1, 8))
def test_a_paragraph_of_equal_sentences_has_groups_that_are_as_long_as_they_may_be(count: int) -> None:
    (grouped,) = prepared([" ".join(["It is red."] * count)])

    sizes = [len(one.sentences) or 1 for one in grouped.sources if isinstance(one, SegmentInput)]
    assert sizes == [3] * (count // 3) + [count % 3] * (count % 3 > 0)


@given(text=TEXTS)
@pytest.mark.parametrize(
    "options",
    [
        DecodingOptions(splitting=Splitting.OFF),
        DecodingOptions(target_prefix="Das"),
        DecodingOptions(max_length=8),
    ],
)
def test_no_group_is_made_where_a_request_says_what_a_segment_is(text: str, options: DecodingOptions) -> None:
    assert prepared([text], options) == prepared([text], options, group_tokens=0)


@pytest.mark.parametrize(
    "text", ["Say NO to it. It is red.", "It is red. 12. Wait.", "Wait.  It is red.", "Wait.\nGo."]
)
def test_words_in_capitals_numbers_and_other_gaps_part_groups(text: str) -> None:
    (grouped,) = prepared([text])

    assert grouped.document == segment(text, "en")


@pytest.mark.parametrize("language", FOLDERS)
def test_a_pronoun_is_translated_as_if_the_context_were_part_of_the_text(language: str) -> None:
    trials = [line.split("\t") for line in TRIALS.read_text(encoding="utf8").splitlines()]
    texts = [text for name, own, text, _ in trials if (name, own) == ("pronouns", language)]
    with Translator.open(FOLDERS[language]) as translator:
        for text in texts:
            first, sentence = segment(text, language).segments
            whole = translator.translate(text).text
            found = translator.translate(sentence, DecodingOptions(context=f"OK! {first}"))

            assert whole.endswith(f" {found.text}")
            assert [one.source for one in found.segments] == [sentence]


def test_no_token_of_a_context_is_streamed() -> None:
    shown: list[str] = []
    options = DecodingOptions(beam_size=1, context="Die Lampe ist neu.")
    request = EngineRequest(options, on_token=lambda _, text: shown.append(text))
    with Translator.open(FOLDERS["de"]) as translator:
        found = translator.submit("Sie ist schwer.", request).result().text

    assert shown
    assert all(found.startswith(beginning) for beginning in shown)


@given(text=TEXTS, before=st.sampled_from(SENTENCES), end=st.sampled_from(["", " ", "\n", " \n "]))
def test_a_context_changes_nothing_but_what_is_read_for_a_first_sentence_on_its_line(
    text: str, before: str, end: str
) -> None:
    (plain,) = prepared([text])
    (found,) = prepared([text], DecodingOptions(context=f"Not this. {before}{end}"))

    assert found.document == plain.document
    assert [*found.sources[1:]] == [*plain.sources[1:]]
    first = found.sources[0] if found.sources else None
    if isinstance(first, SegmentInput) and first.after_context is not None:
        whole = f"{before} {found.document.segments[0]}"
        (alone,) = prepared([whole], DecodingOptions(splitting=Splitting.OFF))
        assert isinstance(alone.sources[0], SegmentInput)
        assert first.after_context.ids == alone.sources[0].ids
        assert "\n" not in end
        assert not text[0].isspace()


def test_a_context_that_is_no_text_is_named() -> None:
    with pytest.raises(InputError, match="context: lone surrogate"):
        prepared(["It is red."], DecodingOptions(context="I saw \ud800."))


def test_a_context_is_for_the_first_step_of_a_route() -> None:
    request = EngineRequest(DecodingOptions(context="Ein Haus."))
    route = Route((Step(Offer("a", "a", NO_LANGUAGES), PAIR), Step(Offer("b", "b", NO_LANGUAGES), PAIR)))

    assert [request_of_step(request, route, number).options.context for number in (0, 1)] == ["Ein Haus.", ""]


@pytest.fixture(scope="module")
def grouping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that reads all of a line together, although its model knows single sentences only."""
    folder = tmp_path_factory.mktemp("grouping")
    file, bundle = folder / "reading.toml", folder / "bundle"
    file.write_text("[de]\ngroup_tokens = 60\n", encoding="utf-8")
    shutil.copytree(TINY / "bundle-fp32", bundle)
    write_reading(bundle, file)
    return bundle


@pytest.mark.parametrize("num_hypotheses", [1, 3])
def test_sentences_are_translated_one_by_one_where_a_translation_of_all_has_fewer(
    grouping: Path, num_hypotheses: int
) -> None:
    options = DecodingOptions(beam_size=4, num_hypotheses=num_hypotheses, return_alignment=True)
    with Translator.open(grouping) as grouped, Translator.open(TINY / "bundle-fp32") as plain:
        for text in TINY_TEXTS:
            found, expected = (each.translate(text, options) for each in (grouped, plain))

            assert found.text == expected.text
            assert found.score == pytest.approx(expected.score)
            assert [one.text for one in found.alternatives] == [one.text for one in expected.alternatives]
            assert len(found.segments) < len(expected.segments)
            assert "".join(one.source for one in found.segments) != ""
            for one in found.segments:
                assert one.text == found.text[slice(*one.span)]
                assert all(found.text[slice(*link.target)].strip() for link in one.links or ())


def test_a_bundle_without_groups_reads_one_sentence_at_a_time() -> None:
    assert AS_WRITTEN.of("en").group_tokens == 0
