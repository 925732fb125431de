"""Times, dates, numbers and abbreviations as models read them best: `6 p.m.` as `18:00` for German,
`dreihundertzwölf` as `312`, `24.12.` as `24. Dezember`, `evtl.` as `eventuell`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from dragoman.languages import primary_subtag
from dragoman.text.abbreviations import find_abbreviations
from dragoman.text.clock import find_times
from dragoman.text.dates import GERMAN_MONTHS, find_dates
from dragoman.text.numbers_in_words import find_numbers_in_words
from dragoman.text.reading import ReadSegment
from dragoman.types import Pair, Span

MINUS = re.compile(
    r"(?<![\d)] )(?<!(?<!['\N{RIGHT SINGLE QUOTATION MARK}])\b\w )"
    r"(?<!\bplus )(?<!\bor )(?<!\boder )\bminus (?=\d)",
    re.IGNORECASE,
)
"""Before a negative number; no subtraction, nor `plus or minus`."""
_CODES = {"eng": "en", "deu": "de", "ger": "de"}
_GERMAN_FRACTIONS = re.compile(r"\b(?:(?P<A>A)|(?P<a>a))nderthalb|\b(?:[Ee]iner? )?Dreiviertelstunde\b")
_FRACTION_SIGNS = ("nderthalb", "reiviertelstunde")


def read_by_rules(segment: str, pair: Pair) -> ReadSegment | None:
    """Return a segment with all of them so written; None if the model may read it as it is."""
    language = read_language(pair)
    if language is None:
        return None
    found = sorted(_find(segment, language))
    if not found:
        return None
    pieces: list[str] = []
    offsets: list[int] = []
    end = 0
    for span, read in found:
        if span.start < end:  # a part of the one before
            continue
        pieces += (segment[end : span.start], read)
        offsets += (*range(end, span.start), *[span.start] * len(read))
        end = span.end
    return ReadSegment("".join((*pieces, segment[end:])), (), (*offsets, *range(end, len(segment) + 1)))


@lru_cache(256)
def read_language(pair: Pair) -> str | None:
    """Return the source language, `de` or `en`, if its texts are read by rules; None for other pairs."""
    source, target = (_CODES.get(code, code) for code in map(primary_subtag, pair))
    return source if {source, target} == {"de", "en"} else None


def _find(segment: str, language: str) -> Iterator[tuple[Span, str]]:
    yield from find_times(segment, language)
    yield from find_abbreviations(segment, language)
    for number in find_numbers_in_words(segment, language):
        yield number.span, number.digits(language)
    if "inus " in segment or "INUS " in segment:
        yield from ((Span(*minus.span()), "-") for minus in MINUS.finditer(segment))
    if language != "de":
        return
    yield from ((date.span, f"{date.day}. {GERMAN_MONTHS[date.month - 1]}") for date in find_dates(segment))
    if any(map(segment.__contains__, _FRACTION_SIGNS)):
        for word in _GERMAN_FRACTIONS.finditer(segment):
            yield (
                Span(*word.span()),
                "Eineinhalb" if word["A"] else "eineinhalb" if word["a"] else "45 Minuten",
            )
