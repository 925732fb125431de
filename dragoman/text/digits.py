"""Times and numbers as models read them best: `6 p.m.` as `18:00` for German, `dreihundertzwölf` as `312`."""

import re
from collections.abc import Iterator

from dragoman.languages import primary_subtag
from dragoman.text.clock import find_times
from dragoman.text.numbers_in_words import find_numbers_in_words
from dragoman.text.respelling import RespelledSegment
from dragoman.types import Pair, Span

GROUPED_FROM = 10_000
"""Numbers from here get grouping signs; four digits may be a year."""
_CODES = {"eng": "en", "deu": "de", "ger": "de"}
_ONE_AND_A_HALF = re.compile(r"\b(?:A|(a))nderthalb")


def with_digits(segment: str, pair: Pair) -> RespelledSegment | None:
    """Return a segment with times and numbers in digits; None if none differs or the languages are others."""
    source, target = (_CODES.get(code, code) for code in map(primary_subtag, pair))
    if {source, target} != {"de", "en"}:
        return None
    found = sorted(_find(segment, source))
    if not found:
        return None
    pieces: list[str] = []
    offsets: list[int] = []
    end = 0
    for span, read in found:
        pieces += (segment[end : span.start], read)
        offsets += (*range(end, span.start), *[span.start] * len(read))
        end = span.end
    return RespelledSegment("".join((*pieces, segment[end:])), (), (*offsets, *range(end, len(segment) + 1)))


def _find(segment: str, language: str) -> Iterator[tuple[Span, str]]:
    yield from find_times(segment, language)
    for span, value in find_numbers_in_words(segment, language):
        digits = f"{value:,}" if value >= GROUPED_FROM else str(value)
        yield span, digits.replace(",", ".") if language == "de" else digits
    if language == "de":
        for word in _ONE_AND_A_HALF.finditer(segment):
            yield Span(*word.span()), "eineinhalb" if word[1] else "Eineinhalb"
