"""Terms are found by words, in any inflection, the longest first."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import InputError
from dragoman.terms import MAX_FORMS, MAX_PHRASE_CHARACTERS, Term, Terminology
from dragoman.text import stemming
from dragoman.text.inflections import forms_of, is_inflected, is_plural, plurals_of
from dragoman.text.stemming import stem
from dragoman.text.term_index import TermIndex
from dragoman.types import Pair
from tests.cases import read_cases

FUNCTION_WORDS = {
    language: set(
        Path(stemming.__file__).with_name(f"function_words.{language}.txt").read_text("utf-8").split()
    )
    for language in ("de", "en")
}


def index_of(language: str, terms: list[Term], target: str = "fr") -> TermIndex:
    return TermIndex.of_sources(terms, Pair(language, target))


def found(language: str, segment: str, *terms: str) -> list[str]:
    return [match.surface for match in index_of(language, [Term(term) for term in terms]).find(segment)]


@pytest.mark.parametrize(("language", "term", "segment", "surfaces"), read_cases(__file__)["found"])
def test_a_term_is_found_where_its_words_are(
    language: str, term: str, segment: str, surfaces: list[str]
) -> None:
    assert found(language, segment, term) == surfaces


def test_the_longest_term_wins_and_what_it_covers_is_not_found_again() -> None:
    assert found("en", "the file system file", "file", "system", "file system") == ["file system", "file"]


def test_of_terms_with_one_stem_the_one_that_is_spelled_alike_wins_and_of_equal_ones_the_later() -> None:
    pairs = (("Bank", "bank"), ("Banken", "banks"), ("Haus", "home"), ("Haus", "house"))
    index = index_of("de", [Term(source, (target,)) for source, target in pairs])

    found = [match.term.targets for match in index.find("Haus Banken Bank Bänke")]

    assert found[:3] == [("house",), ("banks",), ("bank",)]


@given(
    terms=st.lists(st.text("aAbß -+漢.", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5),
    segment=st.text("aAbß -+漢.", max_size=30),
)
def test_matches_are_in_order_without_overlap_and_inside_the_segment(terms: list[str], segment: str) -> None:
    matches = index_of("de", [Term(term) for term in terms]).find(segment)

    ends = [0, *(match.span.end for match in matches)]
    assert all(end <= match.span.start for end, match in zip(ends, matches, strict=False))
    assert all(segment[match.span.start : match.span.end] == match.surface for match in matches)
    assert all(match.surface == match.surface.strip() != "" for match in matches)


@pytest.mark.parametrize("word", ["", " ", "x" * (MAX_PHRASE_CHARACTERS + 1)])
def test_a_phrase_must_have_a_word_and_not_be_too_long_and_not_too_many_translations(word: str) -> None:
    for make in (lambda: Term(word), lambda: Term("a", (word,)), lambda: Terminology((), (word,))):
        with pytest.raises(InputError):
            make()
    with pytest.raises(InputError, match=f"limit of {MAX_FORMS}"):
        Term("a", ("b",) * (MAX_FORMS + 1))


def test_words_of_an_unknown_language_are_their_own_stems() -> None:
    assert stem("Häuser", "xx") == "häuser"
    assert is_inflected("de-AT", "Haus", "Hauses")
    assert is_inflected("fr", "cheval", "chevaux")
    assert not is_inflected("xx", "Haus", "Hauses")


LETTERS = st.text("abdehilnorstuwäöü", min_size=3, max_size=10)
CAPITALISED = LETTERS.map(str.capitalize)


@given(CAPITALISED, LETTERS)
def test_a_german_noun_is_found_in_no_word_without_a_capital_but_in_a_segment_that_has_none(
    noun: str, other: str
) -> None:
    assert found("de", f"Es {other} {noun.lower()}.", noun) == []
    assert found("de", f"es {noun.lower()}.", noun) == [noun.lower()]
    assert found("de", f"Es {noun}, ES {noun.upper()}.", noun) == [noun, noun.upper()]


@given(LETTERS | CAPITALISED, st.sampled_from(["de", "en"]), st.booleans())
def test_function_words_are_forms_of_no_other_word(word: str, language: str, is_noun: bool) -> None:  # noqa: FBT001 -- drawn
    others = forms_of(word, language, is_noun=is_noun) - {word}

    assert not {other.lower() for other in others} & FUNCTION_WORDS[language]


@given(LETTERS, LETTERS)
def test_an_english_term_has_the_forms_of_a_verb_only_if_it_is_translated_by_no_noun(
    word: str, target: str
) -> None:
    for ending in ("ed", "ing"):
        segment = f"it {word.removesuffix('e')}{ending} us"
        nouns, others = (
            index_of("en", [Term(word, (one,))], "de").find(segment) for one in (target.capitalize(), target)
        )
        assert nouns == []
        assert len(others) == 1


@given(CAPITALISED, st.sampled_from(["de", "en"]))
def test_all_that_may_be_a_plural_is_a_form(noun: str, language: str) -> None:
    forms = {form.lower() for form in forms_of(noun, language, is_noun=True)}

    assert {plural.lower() for plural in plurals_of(noun, language)} - FUNCTION_WORDS[language] <= forms


@pytest.mark.parametrize(("language", "noun", "segment", "expected"), read_cases(__file__)["plural"])
def test_a_plural_is_known_by_its_ending_and_the_article_before_it(
    language: str,
    noun: str,
    segment: str,
    expected: bool,  # noqa: FBT001 -- a parameter
) -> None:
    before, _, form = segment.rpartition(" ")

    assert is_plural(noun, form, f"{before} ", language) == expected
