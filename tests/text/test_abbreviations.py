"""Models read abbreviations in full where these mean what the table says, and sentences go on after them."""

import tomllib
from importlib.resources import files

import pytest

from dragoman import Translator
from dragoman.text.abbreviations import find_abbreviations
from dragoman.text.reading_rules import read_by_rules
from dragoman.text.segmentation import segment
from dragoman.types import Pair
from tests.paths import MODELS

TABLE = tomllib.loads(files("dragoman.text").joinpath("abbreviations.toml").read_text("utf-8"))
FRAMES = {
    "at_start": "{} 5 ist es.",
    "before_date": "Er sah {} 12.5. alles.",
    "before_number": "Er sah {} 12 davon.",
    "before_name": "Er sah {} Meier.",
    "before_words": "Er sah {} alles davon.",
    "anywhere": "Er sah {} alles davon.",
    "after_number": "Er sah 5 {} davon.",
}
"""A text with an abbreviation of each section."""
ENTRIES = [
    (language, section, abbreviation)
    for language, sections in TABLE.items()
    for section, words in sections.items()
    for abbreviation in words
]


def read(text: str, language: str) -> str:
    """What a model reads for a text."""
    found = read_by_rules(text, Pair("de", "en") if language == "de" else Pair("en", "de"))
    return text if found is None else found.text


@pytest.mark.parametrize(("language", "section", "abbreviation"), ENTRIES, ids=str)
def test_every_abbreviation_of_the_table_is_read_in_its_place(
    language: str, section: str, abbreviation: str
) -> None:
    full = TABLE[language][section][abbreviation]

    found = list(find_abbreviations(FRAMES[section].format(abbreviation), language))

    assert [words for _, words in found] == [full if isinstance(full, str) else full[-1]]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Evtl. komme ich i.d.R. später.", "Eventuell komme ich in der Regel später."),
        ("de", "Preis (inkl. MwSt.): 5 €", "Preis (inklusive MwSt.): 5 €"),
        ("de", "Mo.\N{EN DASH}Fr. 9-18 Uhr", "Montag bis Freitag 9 bis 18 Uhr"),
        ("de", "1 Std. 30 Min. Fahrt", "1 Stunde 30 Minuten Fahrt"),
        ("de", "Es dauert 21 Std.", "Es dauert 21 Stunden."),
        ("de", "Das Buch hat 300 S. Es ist gut.", "Das Buch hat 300 Seiten. Es ist gut."),
        ("de", "Siehe S. 12.", "Siehe Seite 12."),
        ("de", "Fr. Meier kommt Fr. 12.5. um 8.", "Frau Meier kommt Freitag 12. Mai um 8."),
        ("en", "It costs $3.2bn, or 1 lb.", "It costs $3.2 billion, or 1 pound."),
        ("en", "Within 1 hr, at %1$s mph", "Within 1 hour, at %1$s miles per hour"),
        ("en", "Wait 5 min. for min. 2 people.", "Wait 5 minutes for minimum 2 people."),
        ("en", "No. 5 of No. 7", "Nr. 5 of No. 7"),
        ("en", "Milk w/o sugar at $1.50/lb", "Milk without sugar at $1.50 per pound"),
    ],
)
def test_abbreviations_are_read_with_the_number_the_capital_and_the_dot_that_they_had(
    language: str, text: str, expected: str
) -> None:
    assert read(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Die k. u. k. Armee, u. z. sofort"),
        ("de", "Der U.S. Geological Survey"),
        ("de", "Lt. Smith und Höchst."),
        ("de", "Er wohnt in Bad Evtl.dorf mit Max."),
        ("de", "Eine S. Abb. ohne Zahl"),
        ("en", "The P.1127 and the C.200"),
        ("en", "His brother, Max."),
        ("en", "A film by Dev Sen. The film is long."),
        ("en", "No. That is wrong."),
    ],
)
def test_what_only_looks_like_an_abbreviation_is_read_as_it_is(language: str, text: str) -> None:
    assert read(text, language) == text


@pytest.mark.parametrize(
    ("language", "text", "num_sentences"),
    [
        ("de", "Die Fa. Meier liefert zzgl. Versand.", 1),
        ("en", "It's approx. Monday. He has max. Five.", 2),
        ("en", "He lost 20 lbs. in a year.", 1),
        ("en", "He lost 20 lbs. In a year he wins.", 2),
        ("de", "Die Rechnung vom 3.5. über 5 Euro und vom 4. 5. (Montag) ist da.", 1),
        ("de", "Er kommt am 3.5. Danach gehen wir.", 2),
        ("fr", "Il a zzgl. Versand.", 2),
    ],
)
def test_sentences_go_on_after_abbreviations_and_dates_that_end_none(
    language: str, text: str, num_sentences: int
) -> None:
    assert len(segment(text, language).segments) == num_sentences


def test_the_bundled_models_say_what_abbreviations_mean() -> None:
    expected = {
        "de-en": {"Das kostet max. 5 €.": "a maximum of", "Das dauert mind. 2 Std.": "at least 2 hours"},
        "en-de": {"He drove at 60 mph.": "60 Meilen pro Stunde", "Wait 2 wks.": "2 Wochen"},
    }
    for name, cases in expected.items():
        with Translator.open(MODELS / name) as translator:
            for text, part in cases.items():
                assert part in translator.translate(text).text
