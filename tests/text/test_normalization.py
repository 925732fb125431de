# ruff: noqa: RUF001 -- letters of several scripts are meant as they stand
"""How text is validated and normalised, and gets capitals."""

import re
import sys
import unicodedata
from itertools import groupby
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.capitals import offsets_in_capitals, to_capitals, with_first_capital, words_at
from dragoman.text.normalization import BLOCKS_WITH_MARKS, MAX_MARKS, normalise_segment, normalised_offsets
from dragoman.text.segmentation import has_letters
from dragoman.text.validation import check_text
from dragoman.types import Span


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u\u0308ber", "\u00fcber"),
        ("a\u00a0b\u2003c\td\ne", "a b c d e"),
        ("  a   b ", "a b"),
        ("Schiff\u00adfahrt", "Schifffahrt"),
        ("\ufeffa\u200bb\x00c\x1fd\x85e", "abc d e"),
        ("e\u200b\u0301", "\u00e9"),
        ("E\ufb03zienz ﬁnden", "Effizienz finden"),
        ("", ""),
    ],
)
def test_one_spelling_of_composition_spaces_ligatures_and_controls(text: str, expected: str) -> None:
    assert normalise_segment(text) == expected


@pytest.mark.parametrize("text", ["½", "Ａ", "x²", "„Ja“ – nein …", "👩\u200d👩\u200d👧", "می\u200cخواهم"])
def test_no_letter_sign_or_digit_changes(text: str) -> None:
    assert normalise_segment(text) == text


@given(st.text())
def test_a_normal_text_has_single_spaces_and_its_letters_and_stays_as_it_is(text: str) -> None:
    normalised = normalise_segment(text)

    assert normalised == " ".join(normalised.split()) == normalise_segment(normalised)
    assert has_letters(text) == has_letters(normalised)


MARKS = st.text("\u0301\u0327\u0344\u0f73\u0f71\u0301\u00e9\u1e69a \u200b", max_size=200)
"""Marks that are one or two, letters that have some already, and what parts them or is dropped."""


def longest_run_of_marks(text: str) -> int:
    apart = unicodedata.normalize("NFKD", text)
    runs = groupby(apart, lambda character: unicodedata.combining(character) != 0)
    return max((len(list(run)) for is_mark, run in runs if is_mark), default=0)


@given(MARKS)
@example("e" + "\u0301" * MAX_MARKS)
@example("\u1e69" + "\u0301" * 29)
@example("a" + "\u0f73" * 31)
def test_no_more_than_30_marks_stand_in_a_row_and_none_is_dropped(text: str) -> None:
    normalised = normalise_segment(text)

    assert longest_run_of_marks(normalised) <= MAX_MARKS
    assert normalise_segment(normalised) == normalised
    visible = text.replace("\u200b", "").split()
    apart = [unicodedata.normalize("NFD", word) for word in (*visible, *normalised.split())]
    kept = [sorted(word.replace("\u034f", "")) for word in apart]
    assert kept[: len(visible)] == kept[len(visible) :]


def test_all_marks_of_unicode_are_in_the_blocks_that_are_checked() -> None:
    is_looked_at = re.compile(f"[{BLOCKS_WITH_MARKS}]").match
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.combining(character) or unicodedata.decomposition(character):
            apart = unicodedata.normalize("NFKD", character)
            if unicodedata.combining(apart[0]):
                assert is_looked_at(character), ascii(character)
                assert len(apart) <= 2
            num_last = longest_run_of_marks(apart)
            assert num_last <= 3, ascii(character)


def test_up_to_30_marks_are_left_as_they_are() -> None:
    text = "x" + "\u0323" * MAX_MARKS + "y"

    assert normalise_segment(text) == text
    assert normalise_segment("x" + "\u0323" * (MAX_MARKS + 1)) == "x" + "\u0323" * 30 + "\u034f\u0323"


@pytest.mark.parametrize("mark", ["\u0301", "\u0f73", "\u0344", "\u0301\u200b", "\u0327\u0301"])
def test_normalisation_composes_at_most_30_marks_in_a_row(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting them takes time in proportion to their number squared: with 50,000 it took seconds."""
    composed: list[str] = []
    normalize = unicodedata.normalize

    def watched(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        composed.append(text)
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", watched)

    normalise_segment("a" + mark * 50_000)
    normalised_offsets("a" + mark * 500)

    monkeypatch.undo()
    assert max(map(longest_run_of_marks, composed)) <= MAX_MARKS


LANGUAGES = st.sampled_from(["de", "en", "tr", "deu_Latn"])


def test_a_translation_gets_capitals_but_for_placeholders_and_addresses() -> None:
    assert to_capitals("Die Straße von {name}: www.example.org", "de") == (
        "DIE STRASSE VON {name}: www.example.org"
    )
    assert to_capitals("ışık için", "tr") == "IŞIK İÇİN"


@pytest.mark.parametrize(
    ("segments", "target", "expected"),
    [
        (["Obst ist gut."], "fruit is good.", "Fruit is good."),
        (["Hallo!", "Ist Obst gut?"], "ısla?", "Isla?"),
        (["Obst"], "fruit", "Fruit"),
        (["Gutes frisches Obst"], "good fresh fruit", "Good fresh fruit"),
        (["Sehr gutes frisches Obst"], "very good fresh fruit", "very good fresh fruit"),
        (["Ja.", "Obst"], "fruit", "fruit"),
        (["obst"], "fruit", "fruit"),
        (["obst ist gut."], "fruit is good.", "fruit is good."),
        (["Er begann,", "Häuser zu bauen."], "houses to build.", "houses to build."),
        (["Bei eBay gibt es das."], "eBay has it.", "eBay has it."),
        (["Das Werkzeug npm hilft."], "npm helps.", "npm helps."),
        (["Die Seite."], "www.example.org.", "www.example.org."),
    ],
)
def test_a_sentence_or_a_label_begins_with_a_capital_as_its_source_does(
    segments: list[str], target: str, expected: str
) -> None:
    assert with_first_capital(target, "tr", segments, len(segments) - 1) == expected


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


@given(st.text())
def test_every_text_that_has_utf8_passes(text: str) -> None:
    check_text(text, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((f"😀ab{chr(code)}c", f"U+{code:04X} at character 3") for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF)),
        ("\ud83d\ude00", "U+D83D at character 0"),  # a pair of them is two
    ],
)
@pytest.mark.parametrize("item", [7, None])
def test_a_surrogate_is_rejected_with_its_position_and_item(
    text: str, problem: str, item: int | None
) -> None:
    with pytest.raises(InputError) as caught:
        check_text(text, item)

    assert (caught.value.field, caught.value.item) == ("text", item)
    assert problem in caught.value.problem
