"""Segments in capitals: how the model reads them, and how their translation gets capitals."""

# ruff: noqa: RUF001 -- Turkish has a dotless i
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.capitals import offsets_in_capitals, sentence_case, to_capitals

LANGUAGES = st.sampled_from(["de", "en", "tr", "deu_Latn"])


@pytest.mark.parametrize(
    ("segment", "language", "read"),
    [
        ("RAUCHEN VERBOTEN!", "de", "Rauchen verboten!"),
        ("ABBRECHEN", "de", "Abbrechen"),
        ("„ÜBER UNS“", "de", "„Über uns“"),
        ("GROßE STRAßE", "de", "Große straße"),
        ("ΟΔΟΣ ΑΘΗΝΑΣ", "el", "Οδος αθηνας"),
        ("SİGARA İÇMEK YASAKTIR", "tr", "Sigara içmek yasaktır"),
        ("IŞIK VE SU", "tur_Latn", "Işık ve su"),
        ("DELETE {name} AND %1$s", "en", "Delete {name} and %1$s"),
        ("TAKE 5KG OF FLOUR", "en", "Take 5KG of flour"),
        ("SEE www.example.org", "en", "SEE www.example.org"),  # three letters
        ("READ www.example.org NOW", "en", "Read www.example.org now"),
    ],
)
def test_a_segment_in_capitals_is_read_in_sentence_case(segment: str, language: str, read: str) -> None:
    assert sentence_case(segment, language) == read


@pytest.mark.parametrize(
    "segment",
    [
        "",
        "NATO",
        "Das ist SEHR WICHTIG",
        "eBAY AND PAYPAL",
        "我的 INTEL CPU",
        "12345 %S {NAME}",
        "\N{MATHEMATICAL BOLD CAPITAL A}" * 5,  # have no lower case
    ],
)
def test_any_other_segment_is_read_as_it_is(segment: str) -> None:
    assert sentence_case(segment, "en") == segment


@given(st.text() | st.text("ABCDEİIß .%"), LANGUAGES)
def test_what_is_read_has_the_length_of_the_segment(segment: str, language: str) -> None:
    assert len(sentence_case(segment, language)) == len(segment)


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
