"""Latin numbers in words, as a third language would bring its grammar."""

import re
from collections.abc import Iterator, Mapping

from dragoman.reading.grammar import Finder, Found, after_signs
from dragoman.types import Span

FUNCTION_WORDS = frozenset({"et", "in", "cum"})
_NUMBERS = {"viginti": "20", "centum": "100", "mille": "1000"}
_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBERS)})\b")


def _find_numbers(text: str) -> Iterator[Found]:
    yield from ((Span(*word.span()), _NUMBERS[word[0]]) for word in _WORD.finditer(text))


READINGS: Mapping[str, Finder] = {"numbers_in_words": after_signs(_find_numbers, _WORD)}
