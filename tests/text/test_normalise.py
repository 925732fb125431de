# ruff: noqa: RUF001 -- the signs of several scripts are meant as they stand
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalise import normalise_segment
from dragoman.text.segment import has_letters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u\u0308ber", "\u00fcber"),
        ("a\u00a0b\u2003c\td\ne", "a b c d e"),
        ("  a   b ", "a b"),
        ("Schiff\u00adfahrt", "Schifffahrt"),
        ("\ufeffa\u200bb\x00c\x1fd\x85e", "abc d e"),
        ("e\u200b\u0301", "\u00e9"),
        ("", ""),
    ],
)
def test_one_spelling_of_composition_spaces_and_invisible_controls(text: str, expected: str) -> None:
    assert normalise_segment(text) == expected


@pytest.mark.parametrize(
    "text", ["ﬁ", "½", "Ａ", "x²", "„Ja“ – nein …", "👩\u200d👩\u200d👧", "می\u200cخواهم"]
)
def test_nothing_visible_changes(text: str) -> None:
    assert normalise_segment(text) == text


@given(st.text())
def test_white_space_is_single_spaces_between_words(text: str) -> None:
    normalised = normalise_segment(text)

    assert normalised == " ".join(normalised.split())


@given(st.text())
def test_what_is_normal_stays_as_it_is(text: str) -> None:
    normalised = normalise_segment(text)

    assert normalise_segment(normalised) == normalised


@given(st.text())
def test_letters_are_never_dropped(text: str) -> None:
    assert has_letters(text) == has_letters(normalise_segment(text))
