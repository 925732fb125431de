"""Numbers, dates and times in German and English text, by their values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, NamedTuple, TypeVar

V_co = TypeVar("V_co", covariant=True)

QUOTES = '"`\u201e\u201c\u201d\u00ab\u00bb\u2039\u203a\u201a\u2018'
APOSTROPHES = "'\u2019"
NUMERAL = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,:]\d+)*)")
WORD = re.compile(r"[^\W\d_]+")
_THOUSANDS = {"de": ".", "en": ","}
_DECIMAL = {"de": ",", "en": "."}
_UNITS = {
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn zwanzig",
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty",
}
_IRREGULAR = {
    "de": {"eins": 1, "erst": 1, "dritt": 3, "siebt": 7, "zwo": 2},
    "en": {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12},
}
_ENDINGS = {"de": re.compile(r"(?:s?t)?(?:e[nmrs]?)?"), "en": re.compile(r"(?:th|ieth)?s?")}
_MONTHS = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "jan feb mär apr mai jun jul aug sep okt nov dez",
    )
    for number, name in enumerate(names.split(), start=1)
}
MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?P<year>\d{4}|\d{2})(?!\d)"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?P<sign>[./]) ?(?P<month>\d{{1,2}})(?!\d)(?:[./] ?(?:{_YEAR})?)?",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th)? (?:of )?(?P<named>{MONTH})\b\.?(?:,? {_YEAR})?",
        rf"\b(?P<named>{MONTH})\.? (?:the )?(?P<day>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?\.?(?:,? {_YEAR})?",
    )
)
_HOUR_WORDS = "|".join(word for words in _UNITS.values() for word in words.split()[1:13])
_HALF = r"(?P<half>[ap]\.? ?m\b\.?)"
_FULL = r"Uhr\b(?: (?P<minute>\d{2})(?!\d))?"
_CLOCK = rf"(?P<clock>o[{APOSTROPHES}]clock)"
_TIMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d.:])(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?![\d.:]\d)(?: ?(?:{_HALF}|Uhr\b|h\b))?",
        rf"(?<![\d.:])(?P<hour>\d{{1,2}}|{_HOUR_WORDS}) ?(?:{_HALF}|{_FULL}|{_CLOCK})",
    )
)
_HALF_DAY_MINUTES = 12 * 60


class Date(NamedTuple):
    """A date, without year if `year` is None."""

    day: int
    month: int
    year: int | None


@dataclass(frozen=True, slots=True)
class Found(Generic[V_co]):
    """A number, date or time in a text."""

    start: int
    text: str
    readings: frozenset[V_co]
    """Possible values; more than one if the notation is ambiguous, none if it is invalid in the language."""


def numbers(text: str, language: str) -> Iterator[Found[Decimal]]:
    """Yield numerals, without readings if the language does not write them so, and number words up to 20."""
    for match in NUMERAL.finditer(text):
        value = numeral_value(match[0], language)
        yield Found(match.start(), match[0], frozenset() if value is None else frozenset({value}))
    for match in WORD.finditer(text):
        value = word_value(match[0], language)
        if value is not None:
            yield Found(match.start(), match[0], frozenset({value}))


def numeral_value(numeral: str, language: str) -> Decimal | None:
    """Return the value of digits: 1.234 is over a thousand in German and just over one in English."""
    thousands, point = re.escape(_THOUSANDS[language]), re.escape(_DECIMAL[language])
    digits = re.sub(r"[ \u00a0\u202f]", "", numeral)
    if not re.fullmatch(rf"(?:\d+|\d{{1,3}}(?:{thousands}\d{{3}})+)(?:{point}\d+)?", digits):
        return None
    return Decimal(digits.replace(_THOUSANDS[language], "").replace(_DECIMAL[language], "."))


def word_value(word: str, language: str) -> Decimal | None:
    """Return the value of a cardinal or ordinal up to 20, possibly inflected; None for other words."""
    lower = word.lower()
    known = {name: value for value, name in enumerate(_UNITS[language].split())} | _IRREGULAR[language]
    for stem, value in known.items():
        if lower.startswith(stem) and _ENDINGS[language].fullmatch(lower, len(stem)):
            return Decimal(value)
    return None


def dates(text: str) -> Iterator[Found[Date]]:
    """Yield dates in any format of the two languages; 03/10 may be in March or in October."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            year = None if parts["year"] is None else int(parts["year"])
            if year is not None and len(parts["year"]) == 2:  # noqa: PLR2004 -- digits of a short year
                year += 2000
            named = parts.get("named")
            day, month = int(parts["day"]), _MONTHS[named.lower()] if named else int(parts["month"])
            readings = {Date(day, month, year)}
            if parts.get("sign") == "/":
                readings.add(Date(month, day, year))
            yield Found(match.start(), match[0], frozenset(readings))


def times(text: str) -> Iterator[Found[int]]:
    """Yield times as minutes since midnight; eight o'clock may be in the morning or in the evening."""
    for pattern in _TIMES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            hour = _hour(parts["hour"])
            minutes = hour * 60 + int(parts["minute"] or 0)
            readings = {minutes}
            if parts["half"]:
                is_afternoon = parts["half"].lower().startswith("p")
                readings = {minutes % _HALF_DAY_MINUTES + is_afternoon * _HALF_DAY_MINUTES}
            elif parts.get("clock"):
                readings.add((minutes + _HALF_DAY_MINUTES) % (2 * _HALF_DAY_MINUTES))
            yield Found(match.start(), match[0], frozenset(readings))


def _hour(text: str) -> int:
    if text.isdigit():
        return int(text)
    values = (word_value(text, language) for language in _UNITS)
    return next(int(value) for value in values if value is not None)
