"""Rules of finding numbers and identifiers in texts."""

import string
from collections.abc import Callable
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.numbers import NumberKind, find_numbers, short_numbers
from tests.linear import is_linear

NUM_VALUES = 2_000
FRAMES = (
    "%s", "(%s)", "%s.", "Das Haus kostet %s Euro.", "%s Menschen leben hier.", "Die Kennung %s ist falsch.",
    "Bitte geben Sie %s ein.", "Suchen Sie %s, bitte.", "„%s“", "Nummer: %s", "Nummer:%s", "Am %s war er da.",
    "Siehe %s; danach %s.", "Ist es %s?", "Nein, %s!", "<%s>", "[%s]", "%s \u2013 das ist viel.", "Nr. %s",
    "größer als %s", "Er zahlte\n%s\nund ging.", "\t%s\t", "x = %s", "x=%s", "Wert\u00a0%s\u00a0da",
    "The code %s is wrong.", "Enter %s to go on.", "It costs %s dollars.", "About %s people live.", "'%s'",
    '"%s"', "See %s…", "{%s}", "No. %s, please", "Between %s and %s.", "#: %s", "€ %s", "$%s", "%s %%",
    "コード%sです", "号码\uff1a%s。", "%s€", "Preis %s €", "Über %s", "é %s é", "…%s…", "%s\u2028%s", "→%s",
    "Ä: %s, ö", "%s%%",
)  # fmt: skip
DIGITS, HEXADECIMAL, LETTERS = string.digits, "0123456789abcdef", string.ascii_uppercase


def draw(random: Random, characters: str, number: int) -> str:
    """Return some of the characters at random."""
    return "".join(random.choices(characters, k=number))


SHAPES: tuple[Callable[[Random], str], ...] = (
    lambda random: str(UUID(int=random.getrandbits(128), version=4)),
    lambda random: draw(random, HEXADECIMAL, random.choice((32, 40, 64))),
    lambda random: draw(random, LETTERS, 2) + draw(random, DIGITS, random.randint(13, 24)),
    lambda random: random.choice(":-").join(draw(random, "0123456789ABCDEF", 2) for _ in range(6)),
    lambda random: ".".join(str(random.randint(0, 255)) for _ in range(4)),
    lambda random: f"{random.randint(1900, 2100)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}",
    lambda random: draw(random, DIGITS, random.randint(9, 30)),
    lambda random: (
        f"{random.choice(('', '-'))}{random.randint(0, 180)}.{draw(random, DIGITS, random.randint(4, 9))}"
    ),
    lambda random: random.choice(("", "-", "_")).join(
        draw(random, characters, 3) for characters in (LETTERS, DIGITS, LETTERS, DIGITS)
    ),
    lambda random: " ".join((f"DE{draw(random, DIGITS, 2)}", *(draw(random, DIGITS, 4) for _ in range(4)))),
    lambda random: ":".join(draw(random, HEXADECIMAL, 4) for _ in range(8)),
    lambda random: (
        f"{draw(random, LETTERS, random.randint(2, 5))}-{draw(random, DIGITS, random.randint(3, 8))}"
    ),
    lambda random: f"{draw(random, LETTERS, 2)}-{draw(random, DIGITS, 4)}-{draw(random, DIGITS, 3)}",
)
"""Make values that no translation may change."""


def test_identifiers_are_found_whole_next_to_any_characters() -> None:
    """Random values of all shapes, in frames of several languages."""
    random = Random(1)  # noqa: S311 -- draws samples

    for i in range(NUM_VALUES):
        value, frame = SHAPES[i % len(SHAPES)](random), FRAMES[i % len(FRAMES)]
        text = frame % ((value,) * frame.count("%s"))

        found = find_numbers(text)

        assert [text[one.start : one.end] for one in found] == [value] * frame.count("%s"), (value, frame)
        assert {one.kind for one in found} == {NumberKind.IDENTIFIER}, (value, frame)


@pytest.mark.parametrize(
    "text",
    [
        "Der CO2-Ausstoß stieg in den 1990er Jahren.",
        "Er kam als 5th und fuhr mit der U2-Linie nach 10-jähriger Pause, A4-Papier und MP3-Player dabei.",
        "2024年12月31日(火)10時から12時まで",
        "Am 07.05.2024 um 17:30:45 kamen 1.234.567 Leute.",
        "Das CO2-Ausstoß-2030-Ziel-50 ist ein 9-to-5-Job.",
    ],
)
def test_words_with_digits_and_ordinary_numbers_are_no_identifiers(text: str) -> None:
    """A translation inflects these words, and writes these numbers with other signs."""
    found = find_numbers(text)

    assert found
    assert NumberKind.IDENTIFIER not in {one.kind for one in found}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1990er, 5th, 10-jährig, 10km", ["1990", "5", "10", "10"]),
        ("CO2-Ausstoß, A4, H2O, 3D, COVID-19", ["CO2", "A4", "H2O", "3D", "19"]),
        ("-5 °C, 10-12, 3/4", ["-5", "10", "12", "3", "4"]),
        ("1.234,50 € 5'777'369 1 234 567", ["1.234,50", "5'777'369", "1 234 567"]),
        ("um 17:30 Uhr, 17h30, 16:9", ["17:30", "17h30", "16", "9"]),
        ("\u0661\u0662\u0663 \u0663\u066b\u0661\u0664", ["\u0661\u0662\u0663", "\u0663\u066b\u0661\u0664"]),
    ],
)
def test_numbers_are_found_with_their_signs(text: str, numbers: list[str]) -> None:
    """Letters before digits belong to them, those after do not, but for capitals."""
    assert [text[one.start : one.end] for one in find_numbers(text)] == numbers


def test_nothing_is_found_in_objects() -> None:
    """Their digits are no numbers of the text."""
    text = "%1$s kostet 12 Euro, siehe http://example.org/34"

    found = find_numbers(text, [(0, 4), (text.index("http"), len(text))])

    assert [text[one.start : one.end] for one in found] == ["12"]


HOSTILE = (
    "1.", "1 ", "1 234", "1-", "a1", "+1 ", "::", "1:", "aa:", "DE12 ", "0", "A", "1,2345", "a/", "=", "1E-",
    "%1$s", "{{n}}", "\t", "1111-", "AA11AAAA", "1h", "\u00e41", "1'", "255.", "a_1", "\u0661", "1 2345",
)  # fmt: skip
PAIRS = tuple(one + other for one, other in zip(HOSTILE, HOSTILE[5:], strict=False))


@pytest.mark.parametrize("unit", HOSTILE + PAIRS)
def test_hostile_texts_take_linear_work(unit: str) -> None:
    """Texts of a shape that many patterns begin with."""
    assert is_linear(lambda size: find_numbers((unit * size)[:size]))


WORDS_WITH_NUMBERS = (
    "14", "14.", "(3)", "19th", "90er", "14%", "„5“", "5:30", "12,5", "-3", "+49", "A4", "CO2", "2001-02-03",
    "5::", "::", "123456789", "1.234", "DE12", "3456", "fe80::1", "192.168.0.1", "1a2b3c4d", "5/6", "7'8",
    "Hund", "und,", "٣", "½", "x5", "5h30", "5h", "ab-cd", "\u00a0", "12€", "#5", "5_6", "12345678", "1e5",
    "(7",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS_WITH_NUMBERS), max_size=8), st.sampled_from((" ", "\n", "\u202f")))
def test_short_numbers_are_the_same_as_those_that_all_patterns_find(words: list[str], blank: str) -> None:
    text = blank.join(words)

    short = short_numbers(text)

    if short is not None:
        found = find_numbers(text)
        digits = ["".join(filter(str.isdecimal, text[one.start : one.end])) for one in found]
        assert sorted(digits) == short
        assert NumberKind.IDENTIFIER not in {one.kind for one in found}


def test_most_sentences_with_a_number_need_no_further_patterns() -> None:
    assert short_numbers("Am 14. Juni 1907 waren 30 % da.") == ["14", "1907", "30"]
