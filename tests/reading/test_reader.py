"""What is searched is what is scored, for any segment, bundle, option and language."""

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.bundle import open_bundle, read_bundle
from dragoman.decoding.options import DecodingOptions, Sampling
from dragoman.errors import BundleError
from dragoman.languages import Languages
from dragoman.loading import open_reading, open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.reading import grammars
from dragoman.reading.reader import Reader
from dragoman.reading.reading_file import AS_WRITTEN, READING_FILE, load_reading
from dragoman.routing.routes import Offer, Route, Step
from dragoman.types import Pair, Splitting
from export.bundle import write_manifest, write_reading
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


LATIN_TO_GREEK = Pair("la", "el")
TABLE = """
[la]
grammar = "latin"
readings = ["numbers_in_words", "respelling"]
also_words = ["art."]

[la.before_words]
"art." = "articulus"
"ad ex." = "ad exemplum"

[la.after_number]
"lb." = ["libra", "librae"]
"""
TEXT = "Habet centum equos et, ad ex., 20 lb. auri, mille art. Marcus."
READ = "Habet 100 equos et, ad exemplum, 20 librae auri, 1000 art. Marcus."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a bundle of another pair, whose grammar is in the package of grammars."""
    monkeypatch.setattr(grammars, "__path__", [*grammars.__path__, str(Path(__file__).parent / "grammars")])
    bundle = tmp_path / "la-el"
    shutil.copytree(Path(__file__).parents[1] / "tiny" / "bundle-fp32", bundle)
    manifest = read_bundle(bundle).manifest
    ((source,), (target,)) = manifest.languages.sources.values(), manifest.languages.targets.values()
    write_manifest(bundle, replace(manifest, languages=Languages({"la": source}, {"el": target})))
    (tmp_path / "own.toml").write_text(TABLE, "utf-8")
    write_reading(bundle, tmp_path / "own.toml")
    return bundle


def test_texts_of_another_language_are_read_as_its_file_says(folder: Path) -> None:
    reading = open_reading(read_bundle(folder))
    offer = Offer("la-el", "la-el", read_bundle(folder).manifest.languages, reading=reading)
    found = Route((Step(offer, LATIN_TO_GREEK),)).read(TEXT)

    assert reading.names == ("abbreviations", "numbers_in_words", "respelling")
    assert found is not None
    assert found.text == READ
    tokenizer, _ = open_tokenizers(read_bundle(folder))
    assert Reader(tokenizer, reading).read(TEXT, "la").ids == tokenizer.encode([READ])[0]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[xx]\n", "reading.toml: [xx] is no table of a source language: la"),
        ('[la]\ngrammar = "greek"\n', "reading.toml: [la] 'grammar' there is no grammar 'greek'"),
        ('[la]\ngrammar = "../x"\n', "there is no grammar '../x'"),
        ('[la]\nreadings = ["clock"]\n', "reading.toml: [la] 'readings' 'clock' is none of respelling"),
        ("[la]\nreadings = 5\n", "reading.toml: [la] 'readings' must be words of at most 80 characters"),
        ("[la]\ncolour = 5\n", "reading.toml: [la] 'colour' is unknown"),
        ("[la]\ngroup_tokens = -1\n", "reading.toml: [la] 'group_tokens' must be a number of tokens"),
        ("[la]\ngroup_tokens = true\n", "reading.toml: [la] 'group_tokens' must be a number of tokens"),
        ('[la.anywhere]\n"5." = "x"\n', "reading.toml: [la.anywhere] '5.' must have letters"),
        ('[la.anywhere]\n"ad." = []\n', "reading.toml: [la.anywhere] 'ad.' must be words, or a list"),
        ("[la\n", "reading.toml: Expected"),
    ],
)
def test_a_wrong_file_is_rejected_by_table_and_key(tmp_path: Path, table: str, problem: str) -> None:
    path = tmp_path / READING_FILE
    path.write_text(table, "utf-8")

    with pytest.raises(BundleError, match=re.escape(problem)):
        load_reading(path, ["la"])
