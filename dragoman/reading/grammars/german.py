"""German numbers, times of day and dates: `dreihundertzwölf`, `halb acht`, `24.12.`, `25. Nov`."""

import re
from collections.abc import Iterator, Mapping

from dragoman.reading.calendar import Calendar
from dragoman.reading.grammar import SPACE, Finder, Found, after_signs
from dragoman.reading.numbers import (
    GROUPED_FROM,
    MINUS,
    NumberGrammar,
    NumberInWords,
    NumberWords,
    words_below_100,
)
from dragoman.text.inflections import function_words
from dragoman.types import Span

FUNCTION_WORDS = function_words("de")
_ONES = (
    *("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_WORDS = NumberWords("hundert", "tausend", words_below_100(_ONES, _TENS, "{one}und{ten}") | {"eins": 1})
_ORDINAL = re.compile(r"([^\W\d_]+ig)ste[nmrs]?\b(?= [^\W\d_])", re.IGNORECASE)
"""Only before a word: elsewhere the dot would end the sentence."""
_TWENTY, _HUNDRED = 20, 100
_NOON = 12
_HOURS_IN_WORDS = ("eins", *_ONES[1:12])
_MINUTES = {"halb": -30, "dreiviertel": -15, "drei viertel": -15, "viertel nach": 15, "viertel vor": -15}
_MINUTES |= {"fünf nach": 5, "zehn nach": 10, "zwanzig nach": 20, "fünf vor": -5, "zehn vor": -10}
_CLOCK = re.compile(
    rf"\b(?i:({'|'.join(_MINUTES)}) ({'|'.join(_HOURS_IN_WORDS)}))\b(?P<unit> Uhr\b)?(?! [A-ZÄÖÜ][a-zäöüß])"
)
"""Not `fünf vor zwölf Jahren`."""
_IDIOM = re.compile("fünf (?:vor|nach) zwölf", re.IGNORECASE)
_BEFORE_TIME = re.compile(r"\b(?:um|gegen|bis|ab|seit|vor|nach|von|und) \Z", re.IGNORECASE)
_DOTTED = re.compile(
    r"(?<![\d.,:])([01]?\d|2[0-4])\.([0-5]\d)(?=(?: ?(?:[-\N{EN DASH}]|bis|und) ?\d\d?\.\d\d)? ?Uhr\b)"
)
_FIRST_HOUR = re.compile(r"(?<![\d.,:])(\d\d?) ?[-\N{EN DASH}] ?(?=\d\d? ?Uhr\b)")
"""The first of two hours, which models leave without `Uhr` if a dash is between them."""
_MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)
_CALENDAR = Calendar(
    months=_MONTHS,
    weekdays=("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    month_letters=(4, 3),
    weekday_letters=(2,),
    words=("Jan", "Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"),
    function_words=FUNCTION_WORDS,
    before_month=rf"(?:0?[1-9]|[12]\d|3[01])\.{SPACE}?",
    after_month=rf"{SPACE}(?:19|20)\d\d\b",
    before_weekday="am|bis|ab|vom|zum|jeden|nächsten|letzten|diesen",
    after_weekday=rf"(?:de[nm]{SPACE})?\d\d?\.{SPACE}?(?:\d\d?\.|[A-ZÄÖÜ])|\d\d?(?:\.\d\d)?{SPACE}?Uhr\b"
    rf"|\d\d?:\d\d|\d\d?{SPACE}?[-\N{{EN DASH}}]{SPACE}?\d\d?{SPACE}?Uhr\b",
    joint="und|oder|bis",
    to=" bis ",
)
_DATE = r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?![\w.])"
_DATES = re.compile(
    rf"""
    \b(?:
        (?i:am|vom|zum|bis|ab|seit|de[nms]|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend|mo|di|mi|do|fr|sa|so)
        [.,]{{0,2}}[ ]
      | (?<!\bin[ ])(?<!\bmit[ ])(?<!\bab[ ])(?<!\bvon[ ])(?i:der)[ ](?=1[3-9]|2\d|3[01])  # no version
    )
    (?:\d\d?\.[ ]?(?:[-\N{{EN DASH}}]|bis|und)[ ]?)?
    ({_DATE})(?:[ ]?(?:[-\N{{EN DASH}}]|bis(?:[ ]zum)?|und|oder|,)[ ]?({_DATE}))?
    """,
    re.VERBOSE,
)
"""One date or two, after a word that stands before dates: versions and chapters look the same."""
_DATE_SIGN = re.compile(r"\.\d\d?\.")
_FRACTIONS = re.compile(r"\b(?:(?P<A>A)|(?P<a>a))nderthalb|\b(?:[Ee]iner? )?Dreiviertelstunde\b")
_SIGNS = ("hundert", "tausend", "igste")
"""One of them is in every number that is read, but for negative ones."""


def _read(word: re.Match[str], is_negative: bool) -> NumberInWords | None:  # noqa: FBT001 -- a fact
    if not (is_negative or any(map(word[0].lower().__contains__, _SIGNS))):
        return None
    ordinal = _ORDINAL.match(word.string, word.start())
    number = word[0] if ordinal is None else ordinal[1]
    parts = _WORDS.parts(number.lower().replace("dreissig", "dreißig"))
    is_read = len(parts) > 1 - is_negative if ordinal is None else _TWENTY < sum(parts) < _HUNDRED
    return NumberInWords(Span(*word.span()), sum(parts), ordinal is not None) if is_read else None


def _write(value: int, is_ordinal: bool) -> str:  # noqa: FBT001 -- a fact
    digits = f"{value:,}".replace(",", ".") if value >= GROUPED_FROM else str(value)
    return digits + "." * is_ordinal


def _find_times(text: str) -> Iterator[Found]:
    for found in _CLOCK.finditer(text):
        is_time = found["unit"] or not _IDIOM.fullmatch(found[0])
        if not is_time and not _BEFORE_TIME.search(text, 0, found.start()):
            continue
        minutes = _MINUTES[found[1].lower()]
        hour = _HOURS_IN_WORDS.index(found[2].lower()) + 1 - (minutes < 0)
        yield Span(*found.span()), f"{hour or _NOON}:{minutes % 60:02} Uhr"
    if "Uhr" in text:
        yield from ((Span(*time.span()), f"{time[1]}:{time[2]}") for time in _DOTTED.finditer(text))
        yield from ((Span(*hour.span()), f"{hour[1]} bis ") for hour in _FIRST_HOUR.finditer(text))


def _find_dates(text: str) -> Iterator[Found]:
    """Yield dates without a year, but for a dot that also ends the text, and short names beside dates."""
    yield from _CALENDAR.find(text)
    for dates in _DATES.finditer(text):
        for group in (1, 2):
            if dates[group]:
                day, month, _ = dates[group].split(".")
                start, end = dates.span(group)
                name = _MONTHS[int(month) - 1]  # at most 2 digits
                yield Span(start, end - (end == len(text))), f"{int(day)}. {name}"


def _find_fractions(text: str) -> Iterator[Found]:
    for word in _FRACTIONS.finditer(text):
        yield Span(*word.span()), "Eineinhalb" if word["A"] else "eineinhalb" if word["a"] else "45 Minuten"


_NUMBERS = NumberGrammar(re.compile(r"[^\W\d_]+"), _WORDS, _read, _write)
READINGS: Mapping[str, Finder] = {
    "clock": after_signs(_find_times, "halb ", "viertel ", "fünf ", "zehn ", "zwanzig ", "uhr"),
    "dates": after_signs(_find_dates, _CALENDAR.sign, _DATE_SIGN),
    "fractions": after_signs(_find_fractions, "nderthalb", "reiviertelstunde"),
    "minus": MINUS,
    "numbers_in_words": after_signs(_NUMBERS.find, *_SIGNS, "minus "),
}
