"""Words in capitals, German ss and quotation marks: what the model reads otherwise, and how."""

# ruff: noqa: RUF001 -- Turkish has a dotless i
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.reading.read_text import RewordedText, find_quote_spaces
from dragoman.reading.respelling import Respeller
from dragoman.types import Span

FREQUENT = 1.0
RARE = 9.0
COST_OF_PIECE = 10.0
GERMAN_PIECES = [" ", "GROSSE", "STRASSE", "SS", "ß", "S", "x", "É", "-", "{", "Strasse", "grosse", "„", '"']
VOCABULARY = {
    **dict.fromkeys(("du", "ist", "nicht", "sehr", "und", "verboten", "who", "heute", "i"), FREQUENT),
    **dict.fromkeys(("große", "Hund", "Montag", "Anna", "Mail", "I", "Straße", "Wasser"), FREQUENT),
    **dict.fromkeys(("hund", "montag", "Nicht", "Heute", "NATO", "WHO"), RARE),
}
"""Costs of words that are one piece. Other words are pieces of two letters, in capitals of one."""


def word_cost(word: str) -> tuple[int, float]:
    if word in VOCABULARY:
        return 1, VOCABULARY[word]
    letters_of_piece = 1 if word.isupper() and word != "XP" else 2
    num_pieces = -(-len(word) // letters_of_piece)
    return num_pieces, num_pieces * COST_OF_PIECE


def respell(segment: str, language: str = "de") -> RewordedText | None:
    return Respeller(word_cost).respell(segment, language)


def read(segment: str, language: str = "de") -> str:
    respelled = respell(segment, language)
    return segment if respelled is None else respelled.text


def words(segment: str) -> list[str] | None:
    """The words whose translations get capitals; None if the whole translation does."""
    respelled = respell(segment)
    assert respelled is not None
    if respelled.words is None:
        return None
    return [segment[word.start : word.end] for word in respelled.words]


@pytest.mark.parametrize(
    ("segment", "language", "expected"),
    [
        ("RAUCHEN VERBOTEN!", "de", "Rauchen verboten!"),
        ("HEUTE, AM MONTAG", "de", "Heute, am Montag"),
        ("„ÜBER UNS“", "de", "„ Über uns“"),
        ("GROßE STRAßE", "de", "Große Straße"),
        ("GROSSE STRASSE", "deu_Latn", "Große Straße"),
        ("GROSSE STRASSE", "nl", "Grosse strasse"),
        ("DAS WASSER", "de", "Das Wasser"),
        ("ΟΔΟΣ ΑΘΗΝΑΣ", "el", "Οδος αθηνας"),
        ("SİGARA İÇMEK YASAKTIR", "tr", "Sigara içmek yasaktır"),
        ("IŞIK VE SU", "tur_Latn", "Işık ve su"),
        ("DELETE {name} AND %1$s", "en", "Delete {name} and %1$s"),
        ("TAKE 5KG OF FLOUR", "en", "Take 5KG of flour"),
        ("READ www.example.org NOW", "en", "Read www.example.org now"),
        ("DER HUND DER NATO", "de", "Der Hund der NATO"),  # which the vocabulary has in capitals only
        ("I DON'T", "en", "I don't"),
    ],
)
def test_a_segment_in_capitals_is_read_as_a_sentence(segment: str, language: str, expected: str) -> None:
    assert read(segment, language) == expected
    assert words(segment) is None


@pytest.mark.parametrize(
    ("segment", "expected", "capitals"),
    [
        ("Das ist SEHR gut.", "Das ist sehr gut.", ["SEHR"]),
        ("Am MONTAG: Kommt ANNA?", "Am Montag: Kommt Anna?", ["MONTAG", "ANNA"]),
        ("SEHR!", "Sehr!", ["SEHR"]),  # short: it may be an abbreviation
        ("HEUTE: alles neu", "Heute: alles neu", ["HEUTE"]),  # begins a sentence
        ("»HEUTE« ist alles neu", "» Heute« ist alles neu", ["HEUTE"]),
        ("Die E-MAIL kam.", "Die e-Mail kam.", ["E-MAIL"]),
        ("Bist DU müde?", "Bist du müde?", ["DU"]),
        ("Die UNESCO tagt.", "Die unesco tagt.", ["UNESCO"]),  # the model decides which one it prefers
    ],
)
def test_words_in_capitals_are_read_as_the_vocabulary_has_them(
    segment: str, expected: str, capitals: list[str]
) -> None:
    assert read(segment) == expected
    assert words(segment) == capitals


@pytest.mark.parametrize(
    ("segment", "language", "expected"),
    [
        ("Die Strasse, eine grosse!", "de", "Die Straße, eine große!"),
        ("Die Strasse ist NASS.", "de", "Die Straße ist nass."),
        ("Bahnhof-Strasse", "nl", "Bahnhof-Strasse"),
        ("Das Wasser", "de", "Das Wasser"),  # which the vocabulary has
        ("Klasse", "de", "Klasse"),  # as many pieces with ß
        ("www.Strasse.ch {Strasse}", "de", "www.Strasse.ch {Strasse}"),
    ],
)
def test_german_ss_is_read_as_sharp_s_where_the_vocabulary_has_it_so(
    segment: str, language: str, expected: str
) -> None:
    assert read(segment, language) == expected


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        ("„nicht“ und »heute«", "„ nicht“ und » heute«"),
        ("Er: (\"'nicht sehr'\")", "Er: (\"' nicht sehr'\")"),
        ("'s Morgens en 's avonds", "'s Morgens en 's avonds"),  # Dutch
        ("rock'nicht'du 5\"und", "rock'nicht'du 5\"und"),  # opens nothing
        ("„ nicht“", "„ nicht“"),
    ],
)
def test_a_word_after_an_opening_quotation_mark_is_read_with_a_space(segment: str, expected: str) -> None:
    assert read(segment) == expected


def test_targets_have_the_spaces_after_quotation_marks_that_their_segment_has() -> None:
    target = 'He: " no" (\'" so"), " 5" and « oui »'
    spaced, without = respell("„nicht“"), respell("Die Strasse")
    assert spaced is not None
    assert without is not None

    assert spaced.finish_beginning(target, "en") == 'He: "no" (\'"so"), "5" and « oui »'
    assert without.finish_beginning(target, "en") == target
    assert [target[at - 1 : at + 2] for at in find_quote_spaces(target)] == ['" n', '" s', '" 5']


def test_targets_lose_the_space_before_a_closing_quotation_mark_as_after_an_opening_one() -> None:
    spaced = respell("„nicht“")
    assert spaced is not None

    assert spaced.finish_beginning('" no " is "no"', "en") == '"no" is "no"'
    assert spaced.finish_beginning('He said "no " and " yes"', "en") == 'He said "no" and "yes"'


@pytest.mark.parametrize(
    "segment",
    [
        "",
        "NATO",
        "Die NATO tagt.",  # which the vocabulary has
        "The WHO warns.",  # and `who` too
        "Die PDF-Datei",
        "Windows XP",  # as many pieces in any case
        "Siehe www.SEHR.de und SEHR_1",
        "12345 %S {NAME}",
        "\N{MATHEMATICAL BOLD CAPITAL A}" * 5,  # have no lower case
    ],
)
def test_any_other_segment_is_read_as_it_is(segment: str) -> None:
    assert read(segment) == segment


@given(st.text() | st.text("ABCDEİIßäx .%'-"), st.sampled_from(["en", "tr", "eng_Latn"]))
def test_a_respelled_segment_differs_in_case_only(segment: str, language: str) -> None:
    respelled = Respeller(word_cost).respell(segment, language, may_add_quote_spaces=False)
    found = segment if respelled is None else respelled.text

    assert len(found) == len(segment)
    for letter, before in zip(found, segment, strict=True):
        assert letter == before or (before.isupper() and not letter.isupper())


@given(st.lists(st.sampled_from(GERMAN_PIECES)).map("".join))
def test_offsets_lead_from_what_is_read_in_german_to_the_segment(segment: str) -> None:
    respelled = respell(segment, "de") or RewordedText(segment, None)
    end = len(respelled.text)

    assert respelled.in_segment(Span(0, end)) == Span(0, len(segment))
    for at, letter in enumerate(respelled.text):
        place = respelled.in_segment(Span(at, at + 1))
        before = segment[place.start : place.end]
        expected = {"ß": "SS", " ": before.strip()}.get(letter, letter.upper())
        assert before == letter or before.upper() == expected
