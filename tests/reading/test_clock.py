"""Times, dates, months and weekdays reach the model as it reads them best, with links to the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions, Translator
from dragoman.types import Span
from tests.reading.bundled import MODELS, find, read

CHANGED = [
    ("It is 6 p.m.", "It is 18:00."),
    ("Come before 6 p.m. tomorrow.", "Come before 18:00 tomorrow."),
    ("At 5:30\N{NO-BREAK SPACE}PM EST", "At 17:30 EST"),
    ("12 am, 12:30 p.m., 1am", "0:00, 12:30, 1:00"),
    ("from 9 a.m. to 6 p.m. Friday", "from 9:00 to 18:00 Friday"),
    ("from 2 to 4 pm", "from 14:00 to 16:00"),
    ("between 2 and 4:30 pm", "between 14:00 and 16:30"),
    ("open 9-11 pm, 11-1 pm", "open 21:00-23:00, 11:00-13:00"),
    ("The train arrives at half three, by half six.", "The train arrives at 3:30, by 6:30."),
    ("10am-2pm", "10:00-14:00"),
    ("He came at 6 p.m. Tom left.", "He came at 18:00. Tom left."),
    ("at half past twelve, a quarter to one and TEN PAST EIGHT", "at 12:30, 12:45 and 8:10"),
]
GERMAN = [
    ("um halb acht.", "um 7:30 Uhr."),
    ("um 14.30 Uhr, von 9.05 bis 11.45 Uhr, 24.45 Euro", "um 14:30 Uhr, von 9:05 bis 11:45 Uhr, 24.45 Euro"),
    ("Viertel nach sechs, drei viertel eins, zehn vor elf Uhr", "6:15 Uhr, 12:45 Uhr, 10:50 Uhr"),
    ("Am 24.12. und 5.1. zu", "Am 24. Dezember und 5. Januar zu"),
    ("Vom 1.-15.8. oder Sa., 12.10., BIS 3.3.", "Vom 1.-15. August oder Samstag, 12. Oktober, BIS 3. März."),
]
UNCHANGED = [
    "At 18:00.",
    "It costs $6 pm.",
    "In 16 pm.",
    "A 1.5 pm gap.",
    "I am 9.",
    "at 2 am i was number 2 am I right",
    "half three apples",
    "sold at half ten million",
    "6 pmol",
    "a quarter to one million",
    "",
]


@pytest.mark.parametrize(
    ("text", "read", "language"), [*((*one, "en") for one in CHANGED), *((*one, "de") for one in GERMAN)]
)
def test_times_are_read_in_digits_and_dates_with_the_name_of_their_month(
    text: str, read: str, language: str
) -> None:
    found = find(text, language)

    assert found is not None
    assert found.text == read
    assert found.in_segment(Span(0, len(read))) == (0, len(text))


@pytest.mark.parametrize("text", UNCHANGED)
def test_other_numbers_are_read_as_they_are(text: str) -> None:
    assert find(text, "en") is None


def test_what_only_looks_like_a_time_or_date_are_read_as_they_are() -> None:
    assert find("Platz 1 am Main, fünf vor zwölf Jahren, es ist fünf vor zwölf", "de") is None
    assert (
        find(
            "Am 24.12.2025, Kapitel 3.5., in der 2.4. ist der Fehler behoben, am 32.1., am 1.13., am 1.1.1",
            "de",
        )
        is None
    )


@pytest.mark.parametrize(
    ("text", "own", "time"),
    [
        ("Please call me before 6 p.m. tomorrow.", "6 p.m.", "18 Uhr"),
        ("SALE ENDS AT 6 PM TODAY!", "6 PM", "18 UHR"),
        ('"Closed" at 8:45 p.m.', "8:45 p.m", "20:45 Uhr"),
        ("The Smith FAMILY left at 1 pm.", "1 pm", "13 Uhr"),
    ],
)
def test_the_half_of_the_day_is_in_the_translation_and_links_lead_to_it(
    text: str, own: str, time: str
) -> None:
    with Translator.open(MODELS / "en-de", replicas=1) as translator:
        (segment,) = translator.translate(text, DecodingOptions(return_alignment=True)).segments

    assert time in segment.text
    assert segment.links
    assert all(0 <= link.source.start < link.source.end <= len(text) for link in segment.links)
    assert own in [text[slice(*link.source)] for link in segment.links]


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
