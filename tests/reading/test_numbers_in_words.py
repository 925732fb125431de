"""Numbers of several words have the value that any reader gives them."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.reading.grammars import english, german
from tests.reading.bundled import MODELS, find

GERMAN_STEMS = ("drei", "vier", "fünf", "sech", "sieb", "acht", "neun")
ENGLISH_STEMS = ("thir", "for", "fif", "six", "seven", "eigh", "nine")
ONES = {
    "de": [
        "",
        "ein",
        "zwei",
        "drei",
        "vier",
        "fünf",
        "sechs",
        "sieben",
        "acht",
        "neun",
        "zehn",
        "elf",
        "zwölf",
    ],
    "en": [
        "",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ],
}
ONES["de"] += [f"{stem}zehn" for stem in GERMAN_STEMS]
ONES["en"] += [f"{stem}teen" for stem in ("thir", "four", *ENGLISH_STEMS[2:])]
TENS = {
    "de": ["", "", "zwanzig", "dreißig", *(f"{stem}zig" for stem in GERMAN_STEMS[1:])],
    "en": ["", "", "twenty", *(f"{stem}ty" for stem in ENGLISH_STEMS)],
}


def in_german(number: int) -> str:
    if number >= 1000:
        return f"{in_german(number // 1000)}tausend{in_german(number % 1000)}"
    if number >= 100:
        return f"{ONES['de'][number // 100]}hundert{in_german(number % 100)}"
    if number < 20:
        return ONES["de"][number]
    return f"{ONES['de'][number % 10]}{'und' * (number % 10 > 0)}{TENS['de'][number // 10]}"


def in_english(number: int, joint: str) -> str:
    if number >= 1000:
        words = (in_english(number // 1000, joint), "thousand", in_english(number % 1000, joint))
    elif number >= 100:
        words = (
            in_english(number // 100, joint),
            f"hundred{joint * (number % 100 > 0)}",
            in_english(number % 100, joint),
        )
    elif number < 20:
        return ONES["en"][number]
    else:
        return "-".join(filter(None, (TENS["en"][number // 10], ONES["en"][number % 10])))
    return " ".join(filter(None, words))


@given(st.integers(1, 999_999), st.sampled_from(["", " and"]), st.sampled_from([str, str.upper]))
def test_a_number_in_words_has_its_value(number: int, joint: str, spell: Callable[[str], str]) -> None:
    for language, written in (("de", in_german(number)), ("en", in_english(number, joint))):
        words = spell(written)
        grammar = german if language == "de" else english
        found = [
            (span, re.sub("[.,]", "", digits))
            for span, digits in grammar.READINGS["numbers_in_words"].find(f"x {words}, y")
        ]

        assert found in ([], [((2, 2 + len(words)), str(number))]), words
        assert found or number % 100 == 0 or number < 100 or number % 1000 == 0


READ = {
    "de": [
        ("Es kamen dreihundertzwölf Leute.", "Es kamen 312 Leute."),
        ("Neunzehnhundertfünfundachtzig", "1985"),
        ("zweihundertdreissig und tausendundeins", "230 und 1001"),
        ("Zwölftausenddreihundert Euro", "12.300 Euro"),
        ("Im einundzwanzigsten Jahrhundert, ihr Dreißigster", "Im 21. Jahrhundert, ihr Dreißigster"),
        ("Minus 5 bis minus 2,5 Grad, 5 minus 3, n minus 1", "-5 bis -2,5 Grad, 5 minus 3, n minus 1"),
        ("Minus zwanzig, bei minus zwei Grad, MINUS HUNDERTZWÖLF", "-20, bei -2 Grad, -112"),
        ("Anderthalb Stunden, nach einer Dreiviertelstunde", "Eineinhalb Stunden, nach 45 Minuten"),
    ],
    "en": [
        ("A forty-two-year-old man, a forty-hour week", "A 42-year-old man, a 40-hour week"),
        (
            "May thirty-first, the fortieth, the hundred and second",
            "May 31st, the 40th, the hundred and second",
        ),
        ("the two hundred and thirty-third and a hundred and first", "the 233rd and 101st"),
        ("between one hundred and five and two hundred and six", "between 105 and 206"),
        ("a hundred and fifty million, sixty-four thousand", "150 million, 64,000"),
        (
            "The thirty-second of May in nineteen eighty-four, in Twenty Twenty-One",
            "The 32nd of May in 1984, in 2021",
        ),
        ("Twelve hundred and five, at half past seven", "1205, at 7:30"),
        ("One hundred and five past ten", "105 past ten"),
        ("At minus ten, minus twenty-one; minus forty", "At -10, -21; -40"),
        ("It's minus two, here it's minus 5 (minus four)", "It's -2, here it's -5 (-4)"),
    ],
}


@pytest.mark.parametrize(
    ("language", "text", "read"), [(language, *case) for language, cases in READ.items() for case in cases]
)
def test_numbers_are_read_in_digits(language: str, text: str, read: str) -> None:
    found = find(text, language)

    assert found is not None
    assert found.text == read


IN_WORDS = """\
mehrere hunderttausend, hundertprozentig, Hunderte, Tausendundeine Nacht, zweihunderttausend
zehn minus fünf, plus oder minus zwei, n minus zwei, 5 minus zwei, plus minus 5, minus zwanzigste
ten minus five, plus or minus two, x minus two, (15) minus two, minus five and a half, plus or minus 5
zwanzig, zum Dreißigsten, the second, two hundred and twenty second delay, a thirty-second video
twenty-somethings, twenty thirty years ago, always twenty twenty, nineteen ninety-nine for it
one hundred and two hundred
two and a half thousand, five hundred
ninety-nine point five, three hundred and a half, at nineteen thirty, one-two, fifty-fifty, ten-minute
fifteenth, twenty two, a hundred-odd, the hundredth, the twentieth century, im zwanzigsten Jahrhundert"""


@pytest.mark.parametrize("text", re.split(", |\n", IN_WORDS))
def test_fractions_and_plain_numbers_stay_in_words(text: str) -> None:
    assert find(text, "de") is None
    assert find(text, "en") is None


def test_numbers_in_words_come_out_in_digits() -> None:
    numbers = range(123, 20_000, 1987)
    for source, target, frame, write in (
        ("de", "en", "Im Saal saßen {} Leute.", in_german),
        ("en", "de", "There were {} people in the hall.", lambda number: in_english(number, " and")),
    ):
        with Translator.open(MODELS / f"{source}-{target}", replicas=1) as translator:
            found = translator.translate([frame.format(write(number)) for number in numbers])
        texts = [str(getattr(one, "text", one)).replace(",", "").replace(".", "") for one in found]

        assert [number for number, text in zip(numbers, texts, strict=True) if str(number) not in text] == []
