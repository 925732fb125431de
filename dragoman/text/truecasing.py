"""Words in capitals, which models translate far worse than the same words in ordinary case.

The model reads such a word in the case in which its vocabulary is more likely to have it, and its translation
gets capitals (`capitals.py`). Lita et al. 2003, "tRuEcasIng", ACL, choose by a language model.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from dragoman.text.capitals import is_code, to_lower
from dragoman.types import Span

MIN_CAPITALS = 5
"""Minimum number of letters of a segment in capitals: fewer may be an abbreviation."""
SENTENCE_START_COST = 1.0
"""Minimum difference of costs for which a word gets a capital: many have one only where sentences begin."""
HAS_SHARP_S = frozenset({"de", "deu", "ger"})
"""Languages that write ß in lower case where they write SS in capitals."""
CACHED_PARTS = 4096
MAX_CACHED_LETTERS = 64
"""Limit of the cache's memory: longer parts of words are no words, and come once."""
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W\d_]+)*")
_PART = re.compile(r"['\N{RIGHT SINGLE QUOTATION MARK}]?[^\W\d_]+")
_TWO_CAPITALS = re.compile(r"[^\W\d_a-z]{2}")
"""Occurs in every segment with two capitals in a row, and in few others."""

WordCost = Callable[[str], tuple[int, float]]
"""Returns the number of pieces of a word, and its cost: lower for a more frequent word."""


@dataclass(frozen=True, slots=True)
class TruecasedSegment:
    """A segment with words in capitals, as the model reads it."""

    text: str
    """Differs from the segment in the case of letters, and has ß for some SS."""
    words: tuple[Span, ...] | None
    """The segment's words whose translations get capitals; None if the whole translation does."""
    offsets: tuple[int, ...] | None = None
    """Offset in the segment of each offset in `text`; None if they are the same."""

    def without(self, spans: Collection[Span]) -> "TruecasedSegment":
        """Return the same without the words that overlap any of the spans."""
        if self.words is None:
            return self
        words = tuple(word for word in self.words if not any(map(word.overlaps, spans)))
        return replace(self, words=words)

    def in_segment(self, span: Span) -> Span:
        """Return the span in the segment of a span in `text`."""
        return span if self.offsets is None else Span(self.offsets[span.start], self.offsets[span.end])


@dataclass(frozen=True, slots=True)
class _TruecasedPart:
    """A word, or a part of it between hyphens and apostrophes."""

    text: str
    is_likely: bool
    """Whether it has fewer pieces in this case than in capitals, as words have rather than abbreviations."""


class Truecaser:
    """Truecases segments by a vocabulary. Safe to use from several threads."""

    def __init__(self, word_cost: WordCost) -> None:
        self._word_cost = word_cost
        self._cached_part = lru_cache(CACHED_PARTS)(self._truecase_new_part)

    def truecase(self, segment: str, language: str) -> TruecasedSegment | None:
        """Return how the model reads a segment; None if it reads it as it is.

        Args:
            segment: any text.
            language: its language, by the model's code.
        """
        if not _TWO_CAPITALS.search(segment):
            return None
        words, is_whole = _find_capitals(segment)
        is_whole = is_whole and sum(word.end - word.start for word in words) >= MIN_CAPITALS
        if not is_whole:
            words = [word for word in words if self._is_likely(segment[word.start : word.end], language)]
        pieces: list[str] = []
        end = 0
        for word in words:
            cased = _PART.sub(
                lambda part: self._truecase_part(part[0], language).text, segment[word.start : word.end]
            )
            pieces += (segment[end : word.start], cased)
            end = word.end
        text = "".join((*pieces, segment[end:]))
        first = words[0].start if words else 0
        if words and (is_whole or not any(map(str.isalpha, segment[:first]))):
            text = f"{text[:first]}{segment[first]}{text[first + 1 :]}"
        if text == segment:
            return None
        offsets = None if len(text) == len(segment) else _offsets(text, segment)
        return TruecasedSegment(text, None if is_whole else tuple(words), offsets)

    def _is_likely(self, word: str, language: str) -> bool:
        """Return whether the longest part of a word in capitals is likelier in another case."""
        return self._truecase_part(max(_PART.findall(word), key=len), language).is_likely

    def _truecase_part(self, part: str, language: str) -> _TruecasedPart:
        is_short = len(part) <= MAX_CACHED_LETTERS
        return (self._cached_part if is_short else self._truecase_new_part)(part, language)

    def _truecase_new_part(self, part: str, language: str) -> _TruecasedPart:
        lower = to_lower(part, language)
        if lower == part or not part[0].isalpha():  # has no lower case, or follows an apostrophe
            return _TruecasedPart(lower, is_likely=False)
        num_pieces, _ = self._word_cost(part)
        text, num_likely, cost = self._likely_case(lower, part[0])
        if "ss" in lower[1:] and re.split("[-_]", language)[0] in HAS_SHARP_S:
            with_sharp_s = self._likely_case(lower[0] + lower[1:].replace("ss", "ß"), part[0])
            text, num_likely, cost = min((text, num_likely, cost), with_sharp_s, key=lambda each: each[-1])
        if num_pieces == 1 < min(len(part), num_likely):
            return _TruecasedPart(part, is_likely=False)
        return _TruecasedPart(text, is_likely=num_likely < num_pieces)

    def _likely_case(self, lower: str, capital: str) -> tuple[str, int, float]:
        """Return the likelier of a word in lower case and with a capital, the fewest pieces, its cost."""
        capitalised = capital + lower[1:]
        (num_lower, lower_cost), (num_capitalised, capitalised_cost) = map(
            self._word_cost, (lower, capitalised)
        )
        fewest = min(num_lower, num_capitalised)
        if lower_cost <= capitalised_cost + SENTENCE_START_COST:
            return lower, fewest, lower_cost
        return capitalised, fewest, capitalised_cost


def _offsets(text: str, segment: str) -> tuple[int, ...]:
    """Return the offset in a segment of each offset in a text that has ß for some of its SS."""
    offsets = [0]
    for letter in text:
        at = offsets[-1]
        offsets.append(at + (2 if letter == "ß" and segment[at] != "ß" else 1))
    return tuple(offsets)


def _find_capitals(segment: str) -> tuple[list[Span], bool]:
    """Return the words of tokens whose letters are all capitals, and whether no token has other letters."""
    words: list[Span] = []
    is_whole = True
    for token in _TOKEN.finditer(segment):
        if is_code(token[0]):
            continue
        if all(letter.isupper() for letter in token[0] if letter.isalpha() and letter != "ß"):
            words += (Span(*word.span()) for word in _WORD.finditer(segment, token.start(), token.end()))
        else:
            is_whole = False
    return words, is_whole
