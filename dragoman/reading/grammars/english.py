"""English numbers, times of day and dates: `twelve hundred and five`, `6 p.m.`, `25 Nov`."""

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

FUNCTION_WORDS = function_words("en")
_ONES = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_ONES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_ORDINAL_TENS = tuple(f"{ten[:-1]}ieth" for ten in _TENS)
_CARDINALS = dict(zip((*_ORDINAL_ONES, *_ORDINAL_TENS), (*_ONES[:9], *_TENS), strict=True))
_ONE, _TEEN, _TEN = "|".join(_ONES[:9]), "|".join(_ONES[9:]), "|".join(_TENS)
_UNIT = r"(?:years?|months|weeks|days|hours|minutes|seconds|people|men|women|times|percent|dollars|euros)"
_PATTERN = re.compile(
    rf"""
    \b(?P<century>(?:six|seven|eigh|nine)teen|twenty)
      [ ](?P<year>(?:{_TEN})(?:-(?:{_ONE}))?|{_TEEN})\b(?![ ]{_UNIT}\b|-)
  | \b(?P<cardinal>
        (?:a(?=[ ](?:hundred|thousand)\b)|{_ONE}|{_TEEN}|{_TEN})\b
        (?:(?:(?<=hundred|housand)(?:[ ]and[ ]|-and-)|[ -])(?:{_ONE}|{_TEEN}|{_TEN}|hundred|thousand)\b)*+
      )
      (?:
        (?:(?<=hundred|housand)(?:[ ]and[ ]|-and-)|-)
        (?P<ordinal>
          (?!second\b(?![ ](?:of|century|day|birthday|anniversary)\b))(?:{"|".join(_CARDINALS)})
        )\b
      | (?P<noun>-(?=[^\W\d_])(?!somethings?\b|odd\b|{"|".join(_CARDINALS)}))
      | (?P<other>[ ](?:{"|".join(_ORDINAL_ONES)}|point|and[ ]a)\b)
      )?
  | \b(?P<tens>{"|".join(_ORDINAL_TENS[1:])})\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where `thirty-second` may be a length of time, it stays."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_BEFORE_YEAR = re.compile(
    r"\b(?:in|since|by|of|until|till|from|to|and|before|after|during|late|early|mid|around|circa|year|spring"
    rf"|summer|autumn|fall|winter|{'|'.join(_MONTHS)}) \Z",
    re.IGNORECASE,
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d\b"
_MONTH_START = rf"(?:{'|'.join(name[:3] for name in _MONTHS)})"
_CALENDAR = Calendar(
    months=_MONTHS,
    weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    month_letters=(4, 3),
    weekday_letters=(5, 4, 3),
    words=("Jan", "Mar", "Jun", "Sat", "Sun"),
    function_words=FUNCTION_WORDS,
    before_month=rf"{_DAY}{SPACE}(?:of )?",
    after_month=rf"{SPACE}(?:{_DAY}(?![\d:]|[.,]\d|{SPACE}?%)|{_YEAR})",
    before_weekday="on|by|until|till|from|since|before|after|every|each|this|next|last",
    after_weekday=rf"{_MONTH_START}|{_DAY}{SPACE}(?:of )?{_MONTH_START}|{_DAY}\b(?=[,.;)]|\Z)"
    rf"|\d\d?(?::\d\d|{SPACE}?[ap]\.?m\b)|(?:at|from){SPACE}\d|(?:morning|afternoon|evening|night)",
    joint="and|or|to|through|thru|until|till",
    to=" to ",
)
_LONGEST_WORD = 12
_JOINT = re.compile("[ -]and[ -]|[ -]")
_WORDS = NumberWords("hundred", "thousand", words_below_100(_ONES, _TENS, "{ten}{one}") | {"a": 1})
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_TWENTY, _HUNDRED = 20, 100
_HOUR = r"(0?[1-9]|1[0-2])(?:[:.]([0-5]\d))?"
_WITH_HALF = re.compile(
    r"(?<![\w:.,$€£])(?<!\d[-\N{EN DASH}])"
    rf"(?:(?P<between>between )?{_HOUR}(?P<to> ?[-\N{{EN DASH}}] ?| to |(?(between) and |(?!))))?"
    rf"{_HOUR}[ \N{{NO-BREAK SPACE}}]?(?P<half>[ap])(?:m\b(?! I\b)|\. ?m\b(?P<dot>\.?))",
    re.IGNORECASE,
)
"""A time with a.m. or p.m., or two of which only the second one has its half; not `number 2 am I`."""
_GOES_ON = re.compile(
    r"[,;:)\N{EN DASH}\N{EM DASH}]|\s+(?:[a-z(\d]|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b|[A-Z]{3,4}\b)"
)
"""Text after the dot of `p.m.` where it does not end the sentence."""
_NOON = 12
_AFTERNOON = {"a": 0, "p": _NOON}
_HOURS_IN_WORDS = _ONES[:12]
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15, "five past": 5, "ten past": 10}
"""Minutes after the hour that follows. `Ten to` may begin a range."""
_BEFORE_HALF = "|".join(
    rf"(?<=\b{word} )half" for word in ["at", "by", "until", "till", "after", "before", "around", "about"]
)
"""The British half of `half six`."""
_CLOCK = re.compile(
    rf"\b(?i:(?:a )?({'|'.join(_MINUTES)}|{_BEFORE_HALF}) ({'|'.join(_HOURS_IN_WORDS)}))\b"
    r"(?![ -](?:hundred|thousand|dozen|[mb]illion)\b)"
)
_HALF_SIGN = re.compile(r"\d[ \N{NO-BREAK SPACE}]?[apAP][.mM]")


def _read(words: re.Match[str], is_negative: bool) -> NumberInWords | None:  # noqa: FBT001 -- a fact
    below_100 = _WORDS.below_100
    if words["century"]:
        start = words.start()
        if not _BEFORE_YEAR.search(words.string, max(0, start - _LONGEST_WORD), start):
            return None  # a price, a time, or two numbers
        year = below_100[words["year"].lower().replace("-", "")]
        return NumberInWords(Span(*words.span()), 100 * below_100[words["century"].lower()] + year)
    if words["tens"]:
        return NumberInWords(
            Span(*words.span()), below_100[_CARDINALS[words["tens"].lower()]], is_ordinal=True
        )
    number, last = words["cardinal"].lower(), words["ordinal"]
    ordinal_one = "" if last is None else _CARDINALS[last.lower()]
    parts = _WORDS.parts(_JOINT.sub("", number) + ordinal_one)
    is_compound = len(parts) > 1 - is_negative or "-" in number or last is not None
    is_joined = words["noun"] is not None and _TWENTY <= sum(parts) < _HUNDRED
    if words["other"] or not parts or not (is_compound or is_joined):
        return None
    if words["noun"] is None and last is None and words.string.startswith("-", words.end()):
        return None  # `thirty-second video`, `twenty-somethings`
    end = words.end("cardinal" if last is None else "ordinal")
    return NumberInWords(Span(words.start(), end), sum(parts), last is not None)


def _write(value: int, is_ordinal: bool) -> str:  # noqa: FBT001 -- a fact
    digits = f"{value:,}" if value >= GROUPED_FROM else str(value)
    return digits + (_SUFFIXES.get(value % 10, "th") if is_ordinal else "")


def _find_times(text: str) -> Iterator[Found]:
    """Yield times in words, and those with a.m. or p.m. on a clock of 24 hours."""
    for found in _CLOCK.finditer(text):
        minutes = _MINUTES.get(found[1].lower(), 30)
        hour = _HOURS_IN_WORDS.index(found[2].lower()) + 1 - (minutes < 0)
        yield Span(*found.span()), f"{hour or _NOON}:{minutes % 60:02}"
    for found in _WITH_HALF.finditer(text):
        half = found["half"].lower()
        hour = int(found[5]) % _NOON  # at most 2 digits
        if found["to"]:
            first = int(found[2]) % _NOON  # at most 2 digits
            own_half = half if first < hour else "a" if half == "p" else "p"
            yield (
                Span(found.start(2), found.start("to")),
                f"{first + _AFTERNOON[own_half]}:{found[3] or '00'}",
            )
        has_dot = bool(found["dot"]) and not _GOES_ON.match(text, found.end())
        yield Span(found.start(5), found.end() - has_dot), f"{hour + _AFTERNOON[half]}:{found[6] or '00'}"


_NUMBERS = NumberGrammar(_PATTERN, _WORDS, _read, _write)
_NUMBER_SIGNS = ("hundred", "housand", "ty-", "teen ", "twenty ", "tieth", "minus ")
READINGS: Mapping[str, Finder] = {
    "clock": after_signs(_find_times, "half ", " past", "quarter to", _HALF_SIGN),
    "dates": after_signs(_CALENDAR.find, _CALENDAR.sign),
    "minus": MINUS,
    "numbers_in_words": after_signs(_NUMBERS.find, *_NUMBER_SIGNS),
}
