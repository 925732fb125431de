"""Short names of months and weekdays are read beside dates, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.bundled import read

MONTHS = {
    "en": "January February March April June July August September October November December",
    "de": "Januar Februar April August September Oktober November Dezember",
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
}
MONTH_FRAMES = {
    "en": "Sent on {} {day} by air.|It ends {} {day}, {year}.|on {day} {} {year}|the {day}th of {} was",
    "de": "Es kam am {day}. {} an.|Am {day}.{} {year} war|Seit {} {year} ist|bis {day}. {} und",
}
WEEKDAY_FRAMES = {
    "en": "See you on {} at the door.|{}, 3 June|every {} we meet|Open {} at 9|next {}, please",
    "de": "Wir kommen am {} und gehen.|{}, 3. Juni|{} 9:30 Uhr|bis {} zu|jeden {} um",
}
JOINTS = {"en": "-| - |\N{EN DASH}| to |/| and |, ", "de": "-|\N{EN DASH}| bis |/| und "}
TO = {"en": " to ", "de": " bis "}
LANGUAGES = st.sampled_from(["en", "de"])
DOT = st.sampled_from(["", "."])


def short_weekday(name: str, language: str) -> str:
    return name[: 2 if language == "de" else 3]


@given(LANGUAGES, DOT, st.data())
def test_a_short_month_in_a_date_is_read_as_its_name(language: str, dot: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(MONTHS[language].split()))
    frame = data.draw(st.sampled_from(MONTH_FRAMES[language].split("|")))
    day, year = data.draw(st.integers(4, 31)), data.draw(st.integers(1950, 2049))

    written = frame.format(name[:3] + dot, day=day, year=year)

    assert read(written, language) == frame.format(name, day=day, year=year)


@given(LANGUAGES, DOT, st.data())
def test_a_short_weekday_beside_a_date_is_read_as_its_name(
    language: str, dot: str, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(WEEKDAYS[language].split()))
    frame = data.draw(st.sampled_from(WEEKDAY_FRAMES[language].split("|")))
    written = frame.format(short_weekday(name, language) + dot)

    assert read(written, language) == frame.format(name)


@given(LANGUAGES, DOT, st.data())
def test_short_weekdays_that_are_joined_are_read_as_their_names(
    language: str, dot: str, data: st.DataObject
) -> None:
    first, last = (data.draw(st.sampled_from(WEEKDAYS[language].split())) for _ in range(2))
    joint = data.draw(st.sampled_from(JOINTS[language].split("|")))
    short = [short_weekday(name, language) + dot for name in (first, last)]
    is_range = joint.strip() in {"-", "\N{EN DASH}"}

    written = f"({short[0]}{joint}{short[1]})"

    assert read(written, language) == f"({first}{TO[language] if is_range else joint}{last})"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("He sat. Sat down, she wed. Wed at last.", "en"),
        ("The Sun. It shines. Sun and rain.", "en"),
        ("on Sun Microsystems, by Sat Smith", "en"),
        ("Mar 3 %, Nov-25, Dec/25, v.Dec 3", "en"),
        ("I met Jan. 25 people came.", "en"),
        ("Decade 3, Marvel 4, Satin at 5, Frisian", "en"),
        ("`Mon-Fri` in mon-fri.conf, a.Mon-Fri", "en"),
        ("So bis morgen. So und so. So ist Mo da.", "de"),
        ("Sie kommt am So Meier zuliebe.", "de"),
        ("Das war bei Jan. Heute geht es.", "de"),
        ("Do it, Mi-So-La, Sa+So", "de"),
    ],
)
def test_what_only_looks_like_a_short_name_is_read_as_it_is(text: str, language: str) -> None:
    assert read(text, language) == text


@pytest.mark.parametrize(
    ("text", "expected", "language"),
    [
        ("We met on 25 Nov. He left.", "We met on 25 November. He left.", "en"),
        ("Closed Fri. He left by Tues.", "Closed Friday. He left by Tuesday.", "en"),
        ("Ende Nov. Danach am Fr.", "Ende November. Danach am Freitag.", "de"),
    ],
)
def test_a_dot_that_ends_a_sentence_stays(text: str, expected: str, language: str) -> None:
    assert read(text, language) == expected
