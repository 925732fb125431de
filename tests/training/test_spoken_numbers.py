"""Numbers and times in words say what the target has in digits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.conftest import ENGLISH_TO_GERMAN, GERMAN_TO_ENGLISH, copies_of
from training.corpus import TextPair
from training.variants.drawing import stream
from training.variants.formats import in_words, ordinal, whole
from training.variants.spoken import number_words, spoken_times

ALWAYS = 1 - 1e-9
seeds = st.integers(0, 10**6)


BELOW_100 = [in_words(value, stream(1, "test")) for value in range(100)]


def read_english(text: str) -> int:
    total, current = 0, 0
    ones = {number.english: value for value, number in enumerate(BELOW_100)} | {"a": 1}
    for word in re.split(",? (?:and )?", text):
        if word == "thousand":
            total, current = 1000 * current, 0
        elif word == "hundred":
            current *= 100
        else:
            current += ones[word]
    return total + current


def read_german(text: str) -> int:
    ones = {number.german: value for value, number in enumerate(BELOW_100)} | {"": 0, "ein": 1}
    thousands, has_thousands, rest = text.rpartition("tausend")
    total = 0
    for part, base in ((thousands, 1000 * bool(has_thousands)), (rest, 1)):
        hundreds, has_hundreds, small = part.rpartition("hundert")
        value = 100 * (ones[hundreds] or 1) * bool(has_hundreds) + ones[small]
        total += base * (value or base // 1000)
    return total


@given(value=st.integers(0, 999_999), seed=seeds)
def test_a_number_in_words_is_the_same_number_in_both_languages(value: int, seed: int) -> None:
    number = in_words(value, stream(seed, "test"))

    assert read_english(number.english) == read_german(number.german) == value
    assert " " not in number.german


@given(value=st.integers(2, 999_999), seed=seeds)
def test_only_the_source_changes_and_the_number_is_gone_from_it(value: int, seed: int) -> None:
    number = whole(value)
    german, english = f"Es kamen {number.german} Gäste.", f"There were {number.english} guests."
    for pair, languages in (
        (TextPair(german, english), GERMAN_TO_ENGLISH),
        (TextPair(english, german), ENGLISH_TO_GERMAN),
    ):
        ((_, _, copy),) = copies_of([pair], {"number_words": ALWAYS}, seed, languages)
        assert copy.target == pair.target
        assert not any(map(str.isdigit, copy.source))


def sources(pair: TextPair, language: str, count: int = 60) -> set[str | None]:
    return {number_words(pair, stream(seed, "test"), language) for seed in range(count)}


@pytest.mark.parametrize(
    ("source", "target", "language", "expected"),
    [
        (
            "Im Jahr 1984 zog er um.",
            "In 1984 he moved.",
            "de",
            {"Im Jahr neunzehnhundertvierundachtzig zog er um."},
        ),
        (
            "Er starb 1984 in Rom.",
            "He died in 1984 in Rome.",
            "de",
            {"Er starb neunzehnhundertvierundachtzig in Rom."},
        ),
        ("Schade. 12 fehlen noch.", "A pity. 12 are missing.", "de", {"Schade. Zwölf fehlen noch."}),
        ("He moved in 1984.", "Er zog 1984 um.", "en", {"He moved in nineteen eighty-four."}),
        ("He moved in 1905.", "Er zog 1905 um.", "en", {"He moved in nineteen oh five."}),
        ("Am 3. Tag regnete es.", "On the 3rd day it rained.", "de", {"Am dritten Tag regnete es."}),
        (
            "Das 21. Mal war es gut.",
            "The 21st time it was good.",
            "de",
            {"Das einundzwanzigste Mal war es gut."},
        ),
        ("The 21st time was good.", "Das 21. Mal war gut.", "en", {"The twenty-first time was good."}),
        ("Es sind -5 Grad heute.", "It is -5 degrees today.", "de", {"Es sind minus fünf Grad heute."}),
        ("It is 12 degrees today.", "Es sind heute 12 Grad.", "en", {"It is twelve degrees today."}),
        ("12 people came today.", "Heute kamen 12 Leute.", "en", {"Twelve people came today."}),
    ],
)
def test_years_ordinals_and_negative_numbers(
    source: str, target: str, language: str, expected: set[str | None]
) -> None:
    assert sources(TextPair(source, target), language) == expected


@pytest.mark.parametrize(
    ("source", "target", "language"),
    [
        ("Es kamen 12 Leute.", "There were twelve people.", "de"),  # the target has no digits
        ("Es kamen 12 von 12 Leuten.", "There were 12 of 12 people.", "de"),
        ("Am Abend des 3. Dezember kam er.", "He came on the evening of December 4.", "de"),
        ("We meet on 3 May in town.", "Wir treffen uns am 3. Mai in der Stadt.", "en"),
        ("Das Seil ist 12 m lang.", "The rope is 12 m long.", "de"),
        ("Das Seil kostet 12 € pro Stück.", "The rope costs €12 each.", "de"),
        ("Der Zug fährt um 12:30 Uhr ab.", "The train leaves at 12:30.", "de"),
        ("Version 1.12 ist da drin.", "Version 1.12 is in there.", "de"),
        ("Die Variable x12 ist 12 groß.", "The variable x12 is 12 large.", "de"),
        ("Nur 12", "Only 12", "de"),
        ("Es kam 1 Gast.", "There was 1 guest.", "de"),
    ],
)
def test_a_number_that_may_be_something_else_stays(source: str, target: str, language: str) -> None:
    assert sources(TextPair(source, target), language) == {None}


@given(hour=st.integers(0, 23), minute=st.integers(0, 59), seed=seeds)
def test_every_time_can_be_spoken_and_says_which_half_of_the_day_it_is(
    hour: int, minute: int, seed: int
) -> None:
    german, english = f"Er kam um {hour}:{minute:02d} Uhr.", f"He came at {hour}:{minute:02d}."
    for pair, language in ((TextPair(german, english), "de"), (TextPair(english, german), "en")):
        spoken = spoken_times(pair, stream(seed, "test"), language)
        assert spoken is not None
        assert spoken.endswith(".")
        assert not spoken.endswith("..")
        is_late = re.search(r"nachmittags|abends|nachts|afternoon|evening|at night|[pP]\.?[mM]", spoken)
        assert is_late or hour <= 12, spoken
        assert language == "en" or not any(map(str.isdigit, spoken))


@pytest.mark.parametrize(
    ("time", "german", "english"),
    [
        ("7:30", "halb acht", "half past seven"),
        ("7:45", "Viertel vor acht", "a quarter to eight"),
        ("7:15", "Viertel nach sieben", "quarter past seven"),
        ("12:30", "halb eins", "half past twelve"),
        ("1:00", "ein Uhr", "one o'clock"),
        ("7:50", "zehn vor acht", "ten to eight"),
        ("7:25", "fünf vor halb acht", "twenty-five past seven"),
        ("7:42", "sieben Uhr zweiundvierzig", "seven forty-two"),
        ("7:30", "halb acht morgens", "half seven"),
        ("19:30", "halb acht abends", "7:30 p.m."),
        ("0:30", "halb eins nachts", "12:30 a.m."),
        ("12:00", "zwölf Uhr", "12 pm"),
    ],
)
def test_spoken_times_name_the_right_hour(time: str, german: str, english: str) -> None:
    pair = TextPair(f"Er kam um {time} Uhr an.", f"He arrived at {time} today.")
    swapped = TextPair(pair.target, pair.source)
    seeds = [stream(seed, "test") for seed in range(400)]

    assert f"Er kam um {german} an." in {spoken_times(pair, rng, "de") for rng in seeds}
    assert f"He arrived at {english} today." in {spoken_times(swapped, rng, "en") for rng in seeds}


def test_times_have_many_forms_and_a_part_of_the_day_in_the_afternoon() -> None:
    pair = TextPair("She came at 15:30 today.", "Sie kam heute um 15:30 Uhr.")
    english = {spoken_times(pair, stream(seed, "test"), "en") for seed in range(200)}
    german = {
        spoken_times(TextPair(pair.target, pair.source), stream(seed, "test"), "de") for seed in range(200)
    }

    assert {
        f"She came at {time} today." for time in ("3:30 p.m.", "half past three in the afternoon")
    } <= english
    assert "She came at half three in the afternoon today." in english
    assert german == {"Sie kam heute um halb vier nachmittags."}


def test_an_ordinal_has_its_english_ending() -> None:
    made = {(line := ordinal(stream(seed, "test"))).german: line.english for seed in range(2000)}

    known = {
        "2.": "2nd",
        "11.": "11th",
        "12.": "12th",
        "13.": "13th",
        "21.": "21st",
        "33.": "33rd",
        "40.": "40th",
    }
    assert known.items() <= made.items()
