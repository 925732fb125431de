"""A bundle of many languages: their ids reach the graphs, and its own defaults count."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import (
    BundleError,
    DecodingOptions,
    EngineRequest,
    InputError,
    Translation,
    Translator,
    UnsupportedPair,
)
from dragoman.bundle import read_bundle
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import DecodingDefaults
from dragoman.types import Pair
from tests.engine.conftest import FP32, copy_with

BOS, EOS = 2, 3
LANGUAGES = Languages(
    {"de": SourceLanguage(("deu_Latn",), (), (EOS,)), "nl": SourceLanguage((), (40, 41), (EOS, 42))},
    {"en": TargetLanguage((), (), (BOS,)), "fr": TargetLanguage((), (43,), (BOS, 50, 51))},
)
TEXT = "Das ist ein Haus."
PLAIN = DecodingOptions(beam_size=4, length_penalty=1.0, early_stopping=False)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Translator]:
    folder = copy_with(tmp_path_factory.mktemp("many") / "b", languages=LANGUAGES)
    with Translator.open(folder, replicas=1) as translator:
        yield translator


def ids_of(translator: Translator, text: str) -> list[int]:
    (whole,) = translator._submitter._engine.preparer.encode([text], Pair("de", "en"))
    return whole[:-1]


def test_the_plain_pair_of_many_translates_like_the_bundle_of_one(many: Translator, tiny: Translator) -> None:
    assert many.translate(TEXT, pair=Pair("deu_Latn", "en-GB")) == tiny.translate(TEXT)


def test_languages_put_their_ids_around_source_and_target(many: Translator) -> None:
    pair, pieces = Pair("nl", "fr"), ids_of(many, TEXT)
    options = DecodingOptions(max_length=20)

    (expected,) = many.search([[43, 40, 41, *pieces, EOS, 42]], options, pair=pair)
    found = many.translate(TEXT, options, pair=pair)

    (segment,) = found.segments
    assert segment.score == expected[0].score
    assert segment.num_source_tokens == len(pieces) + 5
    assert segment.num_target_tokens == expected[0].num_tokens
    (without_tags,) = many.search([[*pieces, EOS]], options, pair=pair)
    assert without_tags[0].score != expected[0].score, "the ids are read"


def test_forced_tokens_are_not_in_the_target_and_do_not_count_for_max_length(many: Translator) -> None:
    (found,) = many.search([[*ids_of(many, TEXT), EOS]], DecodingOptions(max_length=2), pair=Pair("de", "fr"))

    assert len(found[0].ids) <= 2
    assert found[0].num_tokens == 2 + 2
    assert not {50, 51} & set(found[0].ids[:1])


def test_lists_and_streams_are_of_one_pair(many: Translator) -> None:
    pair = Pair("nl", "en")
    one = many.translate(TEXT, pair=pair)

    assert many.translate([TEXT, "42"], pair=pair)[0] == one
    assert next(many.translate_many([TEXT], EngineRequest(pair=pair))) == one


def test_a_pair_must_be_named_and_served(many: Translator, tiny: Translator) -> None:
    with pytest.raises(UnsupportedPair, match="choose a language"):
        many.translate(TEXT)
    with pytest.raises(UnsupportedPair, match="not served; served: en, fr"):
        many.submit(TEXT, EngineRequest(pair=Pair("de", "es")))
    with pytest.raises(UnsupportedPair, match="not served"):
        list(tiny.translate_many([TEXT], EngineRequest(pair=Pair("en", "de"))))


def test_language_tokens_do_not_shorten_the_text(tmp_path: Path) -> None:
    """The model reads 48 tokens: with 40 of its own it takes 8 at a time, and loses none."""
    languages = Languages({"de": SourceLanguage((), (7,) * 39, (EOS,))}, {"en": LANGUAGES.targets["en"]})
    folder = copy_with(tmp_path / "b", languages=languages)
    text = "Das ist ein Haus und das ist noch ein Haus und der Hund schläft."
    with Translator.open(folder, replicas=1) as translator:
        found = translator.translate(text)

    assert isinstance(found, Translation)
    assert [segment.source for segment in found.segments] != [text]
    assert " ".join(segment.source for segment in found.segments) == text
    assert all(segment.num_source_tokens <= 48 for segment in found.segments)


@pytest.mark.parametrize(
    "defaults", [DecodingDefaults(1, 1.0), DecodingDefaults(3, 0.2, early_stopping=True)]
)
def test_a_bundles_own_defaults_count_where_the_caller_does_not_say(
    defaults: DecodingDefaults, tmp_path: Path, tiny: Translator
) -> None:
    folder = copy_with(tmp_path / "b", decoding=defaults)
    search_options = DecodingOptions(defaults.beam_size, 1, defaults.length_penalty, defaults.early_stopping)
    unknown = "Unbekannte Wörter und noch mehr davon stehen hier."
    with Translator.open(folder, replicas=1) as translator:
        assert translator.translate(unknown) == tiny.translate(unknown, search_options)
        assert translator.translate(unknown, PLAIN) == tiny.translate(unknown, PLAIN)
        with pytest.raises(InputError, match="num_hypotheses: 5 is more than beam_size"):
            translator.translate(unknown, DecodingOptions(num_hypotheses=5))


def test_ids_that_no_vocabulary_has_are_rejected_with_their_languages(tmp_path: Path) -> None:
    size = read_bundle(FP32).manifest.sizes.target_vocab
    languages = Languages(
        {"de": SourceLanguage((), (size,), (EOS,))}, {"en": TargetLanguage((), (size + 1,), (BOS, size + 2))}
    )
    folder = copy_with(tmp_path / "b", languages=languages)

    with pytest.raises(BundleError) as caught:
        Translator.open(folder)

    assert caught.value.problems == (
        f"languages.sources.de: id {size} is outside the vocabulary of {size}",
        f"languages.targets.en: id {size + 1} is outside the vocabulary of {size}",
        f"languages.targets.en: id {size + 2} is outside the vocabulary of {size}",
    )
