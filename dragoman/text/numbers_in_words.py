"""Numbers that German and English texts write in words: `dreihundertzwölf`, `twelve hundred and five`.

Only those that the bundled models seldom translate right: numbers of several parts from 100, in English from
21, and years such as `nineteen eighty-four`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman.types import Span

GERMAN = (
    *("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_GERMAN_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
ENGLISH = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_ENGLISH_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ONES, _TEENS, _TENS = "|".join(ENGLISH[:9]), "|".join(ENGLISH[9:]), "|".join(_ENGLISH_TENS)
_GERMAN_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_WORDS = re.compile(
    rf"""
    (?<!\bat[ ])\b(?P<century>(?:six|seven|eigh|nine)teen|twenty)
      [ ](?P<year>(?:{_TENS})(?:-(?:{_ONES}))?|{_TEENS})\b(?![ ]hours|-)
  | \b(?:a(?=[ ](?:hundred|thousand)\b)|{_ONES}|{_TEENS}|{_TENS})\b
      (?:(?:(?<=hundred|housand)(?:[ ]and[ ]|-and-)|[ -])(?:{_ONES}|{_TEENS}|{_TENS}|hundred|thousand)\b)++
      (?P<other>[ -](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|point)\b|[ ]and[ ]a[ ])?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_JOINT = re.compile("[ -]and[ -]|[ -]")
_ENGLISH_SIGNS = ("hundred", "thousand", "ty-", "teen ", "twenty ")
"""One of them is in every text that has a number of several parts."""


@dataclass(frozen=True, slots=True)
class _Words:
    """How a language joins the words of a number."""

    hundred: str
    thousand: str
    below_100: Mapping[str, int]

    def parts(self, number: str) -> list[int]:
        """Return the summands of a number that are not 0; none if the words are no number."""
        thousands, has_thousands, rest = number.rpartition(self.thousand)
        try:
            if not has_thousands:
                return self._parts_below_1000(number)
            parts = [1000 * part for part in self._parts_below_1000(thousands) or [1]]
            return [*parts, *self._parts_below_1000(rest.removeprefix("und"))]
        except KeyError:
            return []

    def _parts_below_1000(self, number: str) -> list[int]:
        """Return the summands of a number below 1000; raise a KeyError if it is none."""
        hundreds, has_hundreds, rest = number.rpartition(self.hundred)
        if not has_hundreds:
            return [self.below_100[number]] if number else []
        rest = rest.removeprefix("und")
        return [
            100 * (self.below_100[hundreds] if hundreds else 1),
            *([self.below_100[rest]] if rest else []),
        ]


def _below_100(ones: Sequence[str], tens: Sequence[str], join: str) -> dict[str, int]:
    found = {word: number for number, word in enumerate(ones, 1)}
    for number, ten in enumerate(tens, 2):
        found[ten] = 10 * number
        found |= {join.format(ten=ten, one=one): 10 * number + i for i, one in enumerate(ones[:9], 1)}
    return found


_IN_GERMAN = _Words("hundert", "tausend", _below_100(GERMAN, _GERMAN_TENS, "{one}und{ten}") | {"eins": 1})
_IN_ENGLISH = _Words("hundred", "thousand", _below_100(ENGLISH, _ENGLISH_TENS, "{ten}{one}") | {"a": 1})


def find_numbers_in_words(text: str, language: str) -> Iterator[tuple[Span, int]]:
    """Yield the positions and the values of numbers in words, in order.

    Args:
        text: any.
        language: `de` or `en`; no number of another one is known.
    """
    lower = text.lower()
    if language == "de" and ("hundert" in lower or "tausend" in lower):
        for word in _GERMAN_WORD.finditer(text):
            value = _german_value(word[0].lower().replace("dreissig", "dreißig"))
            if value:
                yield Span(*word.span()), value
    elif language == "en" and any(sign in lower for sign in _ENGLISH_SIGNS):
        for words in _ENGLISH_WORDS.finditer(text):
            value = _english_value(words)
            if value:
                yield Span(*words.span()), value


def _german_value(word: str) -> int:
    """Return the value of a number of several parts; 0 for other words."""
    parts = _IN_GERMAN.parts(word) if "hundert" in word or "tausend" in word else []
    return sum(parts) if len(parts) > 1 else 0


def _english_value(words: re.Match[str]) -> int:
    """Return the value of a year or of a number of several parts; 0 for other words."""
    if words["century"]:
        below_100 = _IN_ENGLISH.below_100
        year = below_100[words["year"].lower().replace("-", "")]
        return 100 * below_100[words["century"].lower()] + year
    if words["other"]:  # an ordinal number or a fraction
        return 0
    number = words[0].lower()
    parts = _IN_ENGLISH.parts(_JOINT.sub("", number))
    return sum(parts) if len(parts) > 1 or "-" in number else 0
