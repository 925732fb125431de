"""Times and dates reach the model as it reads them best, and their links the words of the text."""

import pytest

from dragoman import DecodingOptions, Translator
from dragoman.types import Span
from tests.reading.bundled import MODELS, find

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
    ("text", "read", "language"),
    [*((*one, "en") for one in CHANGED), *((*one, "de") for one in GERMAN)],
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
