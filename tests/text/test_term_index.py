"""Terms are found by words, in any case and inflection, the longest first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import InputError
from dragoman.terms import MAX_FORMS, MAX_PHRASE_CHARACTERS, Term, Terminology
from dragoman.text.stemming import is_inflected, stem
from dragoman.text.term_index import TermIndex
from tests.cases import read_cases


def found(language: str, segment: str, *terms: str) -> list[str]:
    return [match.surface for match in TermIndex([Term(term) for term in terms], language).find(segment)]


@pytest.mark.parametrize(("language", "term", "segment", "surfaces"), read_cases(__file__)["found"])
def test_a_term_is_found_where_its_words_are(
    language: str, term: str, segment: str, surfaces: list[str]
) -> None:
    assert found(language, segment, term) == surfaces


def test_the_longest_term_wins_and_what_it_covers_is_not_found_again() -> None:
    assert found("en", "the file system file", "file", "system", "file system") == ["file system", "file"]


def test_of_terms_with_one_stem_the_one_that_is_spelled_alike_wins_and_of_equal_ones_the_later() -> None:
    pairs = (("Bank", "bank"), ("Banken", "banks"), ("Haus", "home"), ("Haus", "house"))
    index = TermIndex([Term(source, (target,)) for source, target in pairs], "de")

    found = [match.term.targets for match in index.find("Haus Banken Bank Bänke")]

    assert found[:3] == [("house",), ("banks",), ("bank",)]


@given(
    terms=st.lists(st.text("aAbß -+漢.", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5),
    segment=st.text("aAbß -+漢.", max_size=30),
)
def test_matches_are_in_order_without_overlap_and_inside_the_segment(terms: list[str], segment: str) -> None:
    matches = TermIndex([Term(term) for term in terms], "de").find(segment)

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
    assert not is_inflected("xx", "Haus", "Hauses")
