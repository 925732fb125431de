"""How text gets capitals, and where its characters are then."""

# ruff: noqa: RUF001 -- Turkish has a dotless i
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.capitals import offsets_in_capitals, to_capitals, words_at
from dragoman.types import Span

LANGUAGES = st.sampled_from(["de", "en", "tr", "deu_Latn"])


def test_a_translation_gets_capitals_but_for_placeholders_and_addresses() -> None:
    assert to_capitals("Die Straße von {name}: www.example.org", "de") == (
        "DIE STRASSE VON {name}: www.example.org"
    )
    assert to_capitals("ışık için", "tr") == "IŞIK İÇİN"


@given(st.text(), LANGUAGES)
def test_offsets_lead_to_what_each_character_became(text: str, language: str) -> None:
    capitals, offsets = to_capitals(text, language), offsets_in_capitals(text, language)

    assert offsets[0] == 0
    assert offsets[-1] == len(capitals)
    for place, character in enumerate(text):
        became = capitals[offsets[place] : offsets[place + 1]]
        assert became in {character, to_capitals(character, language)}


def test_words_get_capitals_where_a_span_overlaps_them_but_for_placeholders() -> None:
    text = "Die Straße ist nicht weit, don't worry %1$s."
    words = words_at(text, [Span(5, 6), Span(21, 22), Span(30, 31), Span(42, 43)])

    assert to_capitals(text, "de", words) == "Die STRASSE ist nicht WEIT, DON'T worry %1$s."
    assert offsets_in_capitals(text, "de", words)[-1] == len(text) + 1
