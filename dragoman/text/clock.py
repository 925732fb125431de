"""Times with a.m. or p.m. on a clock of 24 hours: models leave the half of the day out.

`before 6 p.m.` would become `vor 6 Uhr`.
"""

import re

from dragoman.languages import primary_subtag
from dragoman.text.respelling import RespelledSegment
from dragoman.types import Pair, Span

_ENGLISH, _GERMAN = frozenset({"en", "eng"}), frozenset({"de", "deu", "ger"})
_HOUR = r"(0?[1-9]|1[0-2])(?:[:.]([0-5]\d))?"
_TIME = re.compile(
    r"(?<![\w:.,$€£])(?<!\d[-\N{EN DASH}])"
    rf"(?:(?P<between>between )?{_HOUR}(?P<to> ?[-\N{{EN DASH}}] ?| to |(?(between) and |(?!))))?"
    rf"{_HOUR}[ \N{{NO-BREAK SPACE}}]?(?P<half>[ap])(?:m\b|\. ?m\b(?P<dot>\.?))",
    re.IGNORECASE,
)
"""A time, or two of which only the second one has its half."""
_GOES_ON = re.compile(
    r"[,;:)\N{EN DASH}\N{EM DASH}]|\s+(?:[a-z(\d]|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b|[A-Z]{3,4}\b)"
)
"""What follows the dot of `p.m.` where it does not end the sentence."""
_NOON = 12


def in_24_hours(segment: str, pair: Pair) -> RespelledSegment | None:
    """Return an English segment for German with its times on a clock of 24 hours; None if it has none."""
    if primary_subtag(pair.source) not in _ENGLISH or primary_subtag(pair.target) not in _GERMAN:
        return None
    pieces: list[str] = []
    offsets: list[int] = []
    end = 0
    for found in _TIME.finditer(segment):
        for span, time in _times(found):
            pieces += (segment[end : span.start], time)
            offsets += (*range(end, span.start), *[span.start] * len(time))
            end = span.end
    if not pieces:
        return None
    return RespelledSegment("".join((*pieces, segment[end:])), (), (*offsets, *range(end, len(segment) + 1)))


def _times(found: re.Match[str]) -> list[tuple[Span, str]]:
    """Return the one or two times of a match, with their positions."""
    half = found["half"].lower()
    hour = int(found[5]) % _NOON
    has_dot = bool(found["dot"]) and not _GOES_ON.match(found.string, found.end())
    times = [(Span(found.start(5), found.end() - has_dot), _write(hour, found[6], half))]
    if found["to"]:
        first = int(found[2]) % _NOON
        own_half = half if first < hour else "a" if half == "p" else "p"
        times.insert(0, (Span(found.start(2), found.start("to")), _write(first, found[3], own_half)))
    return times


def _write(hour: int, minute: str | None, half: str) -> str:
    return f"{hour + _NOON * (half == 'p')}:{minute or '00'}"
