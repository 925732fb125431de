"""The generated corpus is correct in both languages and the same in both directions."""

import re
from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalise_segment
from tests.training.conftest import copies_of
from training.corpus import TextPair, is_clean
from training.variants import dates, formats, names
from training.variants.drawing import Maker, stream
from training.variants.formats import Bilingual
from training.variants.frames import INTERFACE, SLOTS, TEMPLATES
from training.variants.lines import PHRASES, generated_pairs, thing_alone

COUNT = 4000
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def lines() -> list[TextPair]:
    return list(generated_pairs(COUNT, seed=1, source_language="de"))


def figures(text: str) -> list[str]:
    return re.findall("[0-9]", text)


def test_the_requested_number_of_lines_is_generated_and_most_are_distinct(lines: list[TextPair]) -> None:
    assert len(lines) == COUNT
    assert len(set(lines)) > 0.7 * COUNT


def test_the_seed_determines_the_generated_lines_and_fewer_are_a_prefix_of_more(
    lines: list[TextPair],
) -> None:
    assert list(generated_pairs(100, seed=1, source_language="de")) == lines[:100]
    assert list(generated_pairs(100, seed=2, source_language="de")) != lines[:100]


def test_the_other_direction_has_the_same_lines(lines: list[TextPair]) -> None:
    other = generated_pairs(COUNT, seed=1, source_language="en")

    assert [TextPair(pair.target, pair.source) for pair in other] == lines


def test_lines_are_complete_normalised_and_clean_enough_for_training(lines: list[TextPair]) -> None:
    for pair in lines:
        assert is_clean(pair, max_length_ratio=4.0)
        assert (pair.source, pair.target) == (normalise_segment(pair.source), normalise_segment(pair.target))
        assert not re.search("[⟨⟩]", pair.source + pair.target)


def test_both_sides_have_the_same_digits_in_the_same_order(lines: list[TextPair]) -> None:
    """The minutes of a full hour may be left out: `15 Uhr` is `15:00`."""
    with_figures = [pair for pair in lines if figures(pair.source)]
    assert len(with_figures) > COUNT / 2
    for pair in with_figures:
        source, target = (re.sub(r":00(?!\d)", "", side) for side in (pair.source, pair.target))
        assert figures(source) == figures(target)


def test_templates_have_the_same_known_slots_in_both_languages() -> None:
    for frame in TEMPLATES:
        german, english = (re.findall("⟨(.*?)⟩", text) for text in (frame.german, frame.english))
        assert german == english
        assert set(german) <= SLOTS.keys(), frame


def test_no_german_line_in_the_word_lists_has_two_translations() -> None:
    translations = [*TEMPLATES, *INTERFACE, *PHRASES]

    assert len(TEMPLATES) >= 40
    doubtful = {
        line.german: {other.english.lower() for other in translations if other.german == line.german}
        for line in translations
    }
    assert {german: english for german, english in doubtful.items() if len(english) > 1} == {}


def test_lines_of_things_to_copy_are_equal_on_both_sides(lines: list[TextPair]) -> None:
    for seed in range(300):
        line = thing_alone(stream(seed, "test"))
        assert line.german == line.english
    assert sum(pair.source == pair.target for pair in lines) > COUNT / 10


@given(value=st.integers(0, 10**12))
def test_thousands_separators_are_stops_in_german_and_commas_in_english(value: int) -> None:
    number = formats.whole(value)

    assert number.english == f"{value:,}"
    assert number.german.replace(".", ",") == number.english
    assert int(number.german.replace(".", "")) == value


@given(units=st.integers(0, 10**9), places=st.integers(1, 4))
def test_the_decimal_separator_is_a_comma_in_german_and_a_stop_in_english(units: int, places: int) -> None:
    number = formats.decimal(units, places)

    assert number.english == f"{units // 10**places:,}." + str(units).zfill(places)[-places:]
    assert number.german.count(",") == 1
    assert number.german.replace(",", "#").replace(".", ",").replace("#", ".") == number.english


def test_no_number_is_ambiguous_between_german_and_english() -> None:
    """A single stop before three digits is a decimal sign in English, so English never has that."""
    for seed in range(2000):
        assert not re.fullmatch(
            r"[+-]?[0-9]{1,3}\.[0-9]{3}", formats.any_number(stream(seed, "test")).english
        )


TIME = r"[0-2]?[0-9]:[0-5][0-9](:00)?"
GERMAN_PRICE = r"[0-9.,]+ ([€$£]|[A-Z]{3})|[A-Z]{3} [0-9.,]+"
ENGLISH_PRICE = r"[€$£][0-9.,]+|[0-9.,]+ [A-Z]{3}|[A-Z]{3} [0-9.,]+"


@pytest.mark.parametrize(
    ("maker", "german", "english"),
    [
        (formats.percentage, r"[0-9.,]+ ?%", r"[0-9.,]+%"),
        (formats.time, TIME, TIME),
        (formats.price, GERMAN_PRICE, ENGLISH_PRICE),
    ],
)
def test_amounts_are_formatted_for_each_language(maker: Maker[Bilingual], german: str, english: str) -> None:
    for seed in range(300):
        amount = maker(stream(seed, "test"))
        assert re.fullmatch(german, amount.german)
        assert re.fullmatch(english, amount.english)
        signs = [set(re.findall("[€$£A-Z]", text)) for text in (amount.german, amount.english)]
        assert signs[0] == signs[1]


def test_counted_things_are_never_one_and_dates_in_figures_equal_in_both_languages() -> None:
    for seed in range(500):
        assert formats.counted(stream(seed, "test")).german.split()[0] != "1"
        line = dates.in_figures(stream(seed, "test"))
        assert line.german == line.english


def test_number_words_cover_0_to_99_and_match_in_both_languages() -> None:
    made = {
        line.german: line.english for line in (formats.number_word(stream(seed, "x")) for seed in range(3000))
    }

    assert len(made) == len(set(made.values())) == 100
    known = {"null": "zero", "eins": "one", "zwölf": "twelve", "siebzehn": "seventeen", "dreißig": "thirty"}
    known |= {"einundzwanzig": "twenty-one", "siebenundneunzig": "ninety-seven"}
    assert known.items() <= made.items()


def date_in(text: str, names: list[str]) -> tuple[int, ...]:
    """Month, day and year of a text."""
    month = next(place for place, name in enumerate(names, start=1) if name in text)
    day, *year = (int(found) for found in re.findall("[0-9]+", text))
    return month, day, *year


@pytest.mark.parametrize("maker", [dates.full_date, dates.day_and_month, dates.weekday_and_date])
def test_dates_are_the_same_day_in_both_languages_with_the_right_weekday(maker: Maker[Bilingual]) -> None:
    shapes: Counter[bool] = Counter()
    for seed in range(400):
        line = maker(stream(seed, "test"))
        german = date_in(line.german, [month.german for month in dates.MONTHS])
        assert german == date_in(line.english, [month.english for month in dates.MONTHS])
        weekdays = [day for day in dates.WEEKDAYS if day.german in line.german]
        assert [day for day in dates.WEEKDAYS if day.english in line.english] == weekdays
        if weekdays and len(german) == 3:
            month, day, year = german
            assert dates.WEEKDAYS[date(year, month, day).weekday()] == weekdays[0]
        shapes[re.search("[a-z] [0-9]{1,2}(,|$)", line.english) is not None] += 1
    assert 40 <= shapes[True] <= 120  # month first, as Americans write it: one of five


ALWAYS = 1 - 1e-9


def drawn(maker: Maker[str], count: int = 3000) -> set[str]:
    return {maker(stream(seed, "test")) for seed in range(count)}


@pytest.mark.parametrize(
    ("maker", "fewest"),
    [
        (names.first_name, 700),
        (names.last_name, 1000),
        (names.full_name, 2900),
        (names.town, 700),
        (names.street, 1500),
        (names.product, 1200),
    ],
)
def test_there_are_many_names_of_each_kind(maker: Maker[str], fewest: int) -> None:
    found = drawn(maker)

    assert len(found) > fewest
    assert all(re.fullmatch(r"\S+(?: \S+)*", name) for name in found)


@pytest.mark.parametrize("name", ["Essen", "Regen", "Reading", "Halle", "Worms"])
def test_towns_that_are_words_are_among_the_names(name: str) -> None:
    assert name in names.TOWNS


def test_a_german_street_is_followed_and_an_english_one_preceded_by_its_number() -> None:
    for address in drawn(names.street_address):
        is_german = re.search(r"(allee|gasse|platz|ring|steig|straße|weg) \d+$", address, re.IGNORECASE)
        assert bool(is_german) != bool(re.match(r"\d+ ", address)), address


def test_a_shared_name_often_becomes_another_name_on_both_sides() -> None:
    pairs = [TextPair(f"Nummer {n} gehört Thomas.", f"Number {n} belongs to Thomas.") for n in range(2, 300)]
    plain = re.compile(r"belongs to ([^\W\d_][\w '-]*)\.")
    others = set()
    for _, _, copy in copies_of(pairs, {"copied_inside": ALWAYS}):
        if (name := plain.search(copy.target)) and name[1] != "Thomas":
            assert f"gehört {name[1]}." in copy.source
            others.add(name[1])
    assert len(others) > 40
