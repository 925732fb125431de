"""Times of day as models read them best: `6 p.m.` as `18:00` for German, `half past seven` as `7:30`.

The bundled models leave the half of the day out, `vor 6 Uhr`, and take `halb acht` for half past two.
"""

import re
from collections.abc import Iterator

from dragoman.text.numbers_in_words import ENGLISH, GERMAN
from dragoman.types import Span

Times = Iterator[tuple[Span, str]]
"""Positions of times in a segment, and what the model reads there."""
_HOUR = r"(0?[1-9]|1[0-2])(?:[:.]([0-5]\d))?"
_WITH_HALF = re.compile(
    r"(?<![\w:.,$€£])(?<!\d[-\N{EN DASH}])"
    rf"(?:(?P<between>between )?{_HOUR}(?P<to> ?[-\N{{EN DASH}}] ?| to |(?(between) and |(?!))))?"
    rf"{_HOUR}[ \N{{NO-BREAK SPACE}}]?(?P<half>[ap])(?:m\b|\. ?m\b(?P<dot>\.?))",
    re.IGNORECASE,
)
"""A time with a.m. or p.m., or two of which only the second one has its half."""
_GOES_ON = re.compile(
    r"[,;:)\N{EN DASH}\N{EM DASH}]|\s+(?:[a-z(\d]|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b|[A-Z]{3,4}\b)"
)
"""Text after the dot of `p.m.` if it does not end the sentence."""
_NOON = 12
_AFTERNOON = {"a": 0, "p": _NOON}
_ENGLISH, _GERMAN = ENGLISH[:12], ("eins", *GERMAN[1:12])
_PAST = {"half past": 30, "quarter past": 15, "quarter to": -15, "five past": 5, "ten past": 10}
"""Minutes after the hour that follows. `Ten to` may begin a range."""
_NACH = {"halb": -30, "dreiviertel": -15, "drei viertel": -15, "viertel nach": 15, "viertel vor": -15}
_NACH |= {"fünf nach": 5, "zehn nach": 10, "zwanzig nach": 20, "fünf vor": -5, "zehn vor": -10}
_IN_ENGLISH = re.compile(
    rf"\b(?i:(?:a )?({'|'.join(_PAST)}) ({'|'.join(_ENGLISH)}))\b(?![ -](?:hundred|thousand|[mb]illion)\b)"
)
_IN_GERMAN = re.compile(
    rf"\b(?i:({'|'.join(_NACH)}) ({'|'.join(_GERMAN)}))\b(?: Uhr\b)?(?! [A-ZÄÖÜ][a-zäöüß])"
)
"""Not `fünf vor zwölf Jahren`."""
_DOTTED = re.compile(
    r"(?<![\d.,:])([01]?\d|2[0-4])\.([0-5]\d)(?=(?: ?(?:[-\N{EN DASH}]|bis|und) ?\d\d?\.\d\d)? ?Uhr\b)"
)
_HOURS = re.compile(r"(?<![\d.,:])(\d\d?) ?[-\N{EN DASH}] ?(?=\d\d? ?Uhr\b)")
"""The first of two hours, which models leave without `Uhr` if a dash is between them."""
_GERMAN_SIGNS = ("halb", "viertel", "fünf ", "zehn ", "zwanzig ")
_HALF_SIGN = re.compile(r"\d[ \N{NO-BREAK SPACE}]?[apAP][.mM]")


def find_times(segment: str, language: str) -> Times:
    """Yield the times that a model would read wrong, in any order.

    Args:
        segment: any text.
        language: `de` or `en`.
    """
    lower = segment.lower()
    if language == "de":
        if any(map(lower.__contains__, _GERMAN_SIGNS)):
            yield from _said(_IN_GERMAN.finditer(segment), " Uhr")
        if "Uhr" in segment:
            yield from ((Span(*time.span()), f"{time[1]}:{time[2]}") for time in _DOTTED.finditer(segment))
            yield from ((Span(*hour.span()), f"{hour[1]} bis ") for hour in _HOURS.finditer(segment))
        return
    if " past" in lower or "quarter to" in lower:
        yield from _said(_IN_ENGLISH.finditer(segment), "")
    if _HALF_SIGN.search(segment):
        yield from _with_half(segment)


def _with_half(segment: str) -> Times:
    """Yield the times with a.m. or p.m. on a clock of 24 hours."""
    for found in _WITH_HALF.finditer(segment):
        half = found["half"].lower()
        hour = int(found[5]) % _NOON  # at most 2 digits
        if found["to"]:
            first = int(found[2]) % _NOON  # at most 2 digits
            own_half = half if first < hour else "a" if half == "p" else "p"
            yield (
                Span(found.start(2), found.start("to")),
                f"{first + _AFTERNOON[own_half]}:{found[3] or '00'}",
            )
        has_dot = bool(found["dot"]) and not _GOES_ON.match(segment, found.end())
        yield Span(found.start(5), found.end() - has_dot), f"{hour + _AFTERNOON[half]}:{found[6] or '00'}"


def _said(matches: Iterator[re.Match[str]], unit: str) -> Times:
    """Yield the times that are said with an hour and minutes before or after it."""
    for found in matches:
        words, hour = found[1].lower(), found[2].lower()
        hours, minutes = (_GERMAN, _NACH[words]) if words in _NACH else (_ENGLISH, _PAST[words])
        number = hours.index(hour) + 1 - (minutes < 0)
        yield Span(*found.span()), f"{number or _NOON}:{minutes % 60:02}{unit}"
