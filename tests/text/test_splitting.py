"""Where a text is cut is for its caller to say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.segmentation import segment, segment_to_fit
from dragoman.types import Splitting

TEXT = " Guten Morgen! Es ist\nfrüh.\n\nUnd kalt. "
EXPECTED = {
    Splitting.SENTENCES: ("Guten Morgen!", "Es ist", "früh.", "Und kalt."),
    Splitting.NO_NEWLINES: ("Guten Morgen!", "Es ist\nfrüh.", "Und kalt."),
    Splitting.OFF: ("Guten Morgen! Es ist\nfrüh.\n\nUnd kalt.",),
}


@pytest.mark.parametrize("splitting", Splitting)
def test_a_text_is_cut_where_its_caller_says(splitting: Splitting) -> None:
    assert segment(TEXT, "de", splitting).segments == EXPECTED[splitting]


@given(text=st.text(), splitting=st.sampled_from(Splitting))
def test_rejoining_gives_back_the_text_however_it_is_cut(text: str, splitting: Splitting) -> None:
    document = segment(text, "de", splitting)

    assert document.rejoin(document.segments) == text
    assert splitting is not Splitting.OFF or len(document.segments) == bool(text.strip())


def test_what_is_too_long_is_cut_in_any_case() -> None:
    document = segment_to_fit("eins zwei drei vier", "de", lambda text: len(text.split()), 2, Splitting.OFF)

    assert document.segments == ("eins zwei", "drei vier")
