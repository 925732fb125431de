"""Which language a name means, and which pairs there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UnsupportedPair
from dragoman.languages import MAX_NAMED, Languages, SourceLanguage, TargetLanguage, find_language
from dragoman.types import Pair


def source(*names: str) -> SourceLanguage:
    return SourceLanguage(names, (), (3,))


def target(*names: str) -> TargetLanguage:
    return TargetLanguage(names, (), (2,))


MANY = Languages(
    {"de": source("deu_Latn"), "zh-Hans": source("zho_Hans"), "pt": source(), "pt-BR": source()},
    {"de": target("deu_Latn"), "en": target("eng_Latn"), "sr-Cyrl": target(), "sr-Latn": target()},
)
ONE = Languages({"de": source()}, {"en": target()})


@pytest.mark.parametrize(
    ("requested", "meant"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("deu_Latn", "de"),
        ("deu-latn", "de"),
        ("de-AT", "de"),
        ("de_AT_1996", "de"),
        ("zh", "zh-Hans"),
        ("zh_hans", "zh-Hans"),
        ("zh-Hans-SG", "zh-Hans"),
        ("pt", "pt"),
        ("pt-br", "pt-BR"),
        ("pt-PT", "pt"),
        ("d", None),
        ("", None),
        ("zh-Hant", None),
        ("en", None),
    ],
)
def test_a_name_means_the_nearest_served_language(requested: str, meant: str | None) -> None:
    assert find_language(requested, MANY.sources) == meant


def test_a_name_of_several_served_languages_means_none_of_them() -> None:
    assert find_language("sr", MANY.targets) is None
    assert find_language("sr-cyrl", MANY.targets) == "sr-Cyrl"


def test_a_code_wins_over_another_languages_name() -> None:
    assert find_language("no", {"nb": source("no"), "no": source()}) == "no"


@given(requested=st.text(max_size=20))
def test_any_text_means_a_served_language_or_none(requested: str) -> None:
    assert find_language(requested, MANY.sources) in {None, *MANY.sources}


def test_pairs_are_all_that_join_two_languages() -> None:
    pairs = list(MANY.pairs())

    assert len(pairs) == len(set(pairs)) == 4 * 4 - 1
    assert Pair("de", "de") not in pairs
    assert all(MANY.pair(*pair) == pair for pair in pairs)
    assert MANY.pair("deu_Latn", "EN-GB") == Pair("de", "en")
    for source_name, target_name in (("de", "de"), ("de", "fr"), ("fr", "en")):
        with pytest.raises(UnsupportedPair):
            MANY.pair(source_name, target_name)


def test_a_bundle_of_one_pair_needs_no_languages_named_and_checks_those_that_are() -> None:
    assert ONE.pair(None, None) == ONE.pair("de", None) == ONE.pair(None, "en-US") == Pair("de", "en")
    with pytest.raises(UnsupportedPair, match=r"source: this language is not served; served: de$"):
        ONE.pair("fr", None)


def test_a_pair_of_one_language_is_served_only_by_a_bundle_made_for_it() -> None:
    tidy = Languages({"en": source()}, {"en": target()})

    assert tidy.pair(None, None) == Pair("en", "en")
    assert list(tidy.pairs()) == [Pair("en", "en")]
    with pytest.raises(UnsupportedPair, match="target: de is also the source language; choose another"):
        MANY.pair("de", "de")


def test_a_bundle_of_several_pairs_wants_them_named() -> None:
    with pytest.raises(UnsupportedPair, match=r"source: choose a language; served: de, zh-Hans"):
        MANY.pair(None, "en")
    with pytest.raises(UnsupportedPair, match="target: choose a language"):
        MANY.pair("de", None)


def test_an_error_does_not_list_hundreds_of_languages() -> None:
    codes = [f"q{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
    languages = Languages({code: source() for code in codes}, {"en": target()})

    with pytest.raises(UnsupportedPair, match=f"served: {len(codes)} languages") as caught:
        languages.pair("fr", "en")
    assert len(codes) > MAX_NAMED
    assert len(str(caught.value)) < 120
