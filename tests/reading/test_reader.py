"""What is searched is what is scored, for any segment, bundle and option."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.decoding.options import DecodingOptions, Sampling
from dragoman.loading import open_reading, open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.reading.reader import Reader
from dragoman.reading.reading_file import AS_WRITTEN
from dragoman.types import Pair, Splitting
from tests.reading.bundled import FOLDERS, MODELS

MAX_DIFFERENCE = 0.15
PIECES = [
    "hp",
    "300",
    " ",
    ". ",
    "p.m.",
    "6",
    "SEHR",
    "GUT",
    "evtl.",
    "„",
    '"',
    "Strasse",
    "Fr.",
    "halb acht",
    "x-",
    "No.",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), min_size=1, max_size=8).map("".join)
PAIRS = {"de": Pair("de", "en"), "en": Pair("en", "de")}


@cache
def preparer(language: str, *, has_reading: bool) -> Preparer:
    bundle = open_bundle(FOLDERS[language])
    reading = open_reading(bundle) if has_reading else AS_WRITTEN
    manifest = bundle.manifest
    return Preparer(manifest.languages, manifest.limits, Reader(open_tokenizers(bundle)[0], reading))


def ids_of(source: SegmentInput) -> list[list[int]]:
    """Return the ids of each reading of a segment."""
    return [source.ids, *([] if source.as_written is None else [source.as_written.ids])]


@given(text=TEXTS, language=st.sampled_from(["de", "en"]), has_reading=st.booleans())
def test_the_ids_that_are_searched_are_those_that_are_scored(
    text: str,
    language: str,
    has_reading: bool,  # noqa: FBT001 -- drawn
) -> None:
    prepare = preparer(language, has_reading=has_reading)
    (prepared,) = prepare.prepare([text], PAIRS[language], None, DecodingOptions(splitting=Splitting.OFF))
    assert not isinstance(prepared, Exception)

    for segment, source in zip(prepared.document.segments, prepared.sources, strict=True):
        if isinstance(source, SegmentInput):
            assert ids_of(source) == ids_of(prepare.prepare_one(segment, PAIRS[language], "source"))


@given(text=TEXTS, language=st.sampled_from(["de", "en"]))
def test_a_segment_with_a_prefix_and_one_without_a_reading_are_read_as_they_are(
    text: str, language: str
) -> None:
    options = DecodingOptions(splitting=Splitting.OFF, target_prefix="The")
    (with_prefix,) = preparer(language, has_reading=True).prepare([text], PAIRS[language], None, options)
    (as_written,) = preparer(language, has_reading=False).prepare(
        [text], PAIRS[language], None, DecodingOptions(splitting=Splitting.OFF)
    )

    assert with_prefix == as_written


def test_a_sampled_segment_has_one_reading() -> None:
    options = DecodingOptions(sampling=Sampling(seed=1))
    (prepared,) = preparer("de", has_reading=True).prepare(["Das ist SEHR gut."], PAIRS["de"], None, options)

    assert not isinstance(prepared, Exception)
    assert [isinstance(one, SegmentInput) and one.as_written for one in prepared.sources] == [None]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            [
                "The dog sleeps in the garden.",
                "The car has 300 hp.",
                "We meet at 6 p.m. on Monday.",
                "THE CAR IS RED AND FAST.",
                "There were three hundred and twelve people.",
            ],
        ),
        (
            "de",
            [
                "Treffen um halb acht.",
                "Der HUND frisst den APFEL.",
                "Am 24.12. ist evtl. geschlossen.",
                '"Vielleicht" ist keine Antwort.',
            ],
        ),
    ],
)
def test_a_translation_is_as_probable_when_it_is_scored(language: str, texts: list[str]) -> None:
    with Translator.open(FOLDERS[language], replicas=1) as translator:
        for text in texts:
            found = translator.translate(text)
            scored = translator.score(text, found.text).result()

            assert found.score is not None
            assert scored.score == pytest.approx(found.score, abs=MAX_DIFFERENCE), (text, found.text)


def test_links_of_a_scored_target_lead_to_the_words_of_both_texts() -> None:
    source, target = "The car has 300 hp AND A DOG.", "Das Auto hat 300 PS UND EINEN HUND."
    with Translator.open(MODELS / "en-de", replicas=1) as translator:
        links = translator.score(source, target).result().links

    assert links
    words = {(source[slice(*link.source)], target[slice(*link.target)]) for link in links}
    assert {("hp", "PS"), ("DOG", "HUND")} <= words
