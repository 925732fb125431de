"""Numbers in words, in digits: `dreihundertzwölf`, `twelve hundred and five`.

Grammars say which ones models seldom translate right.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.reading.grammar import Finder, Found, after_signs
from dragoman.types import Span

_IN_WORD = r"[\w)'\N{RIGHT SINGLE QUOTATION MARK}]"
_MINUS = re.compile(rf"(?:(?<!{_IN_WORD})({_IN_WORD}++)[ ])?\b(minus )\Z", re.IGNORECASE)
"""With the word before it, if there is one."""
_BEFORE_DIGITS = re.compile(
    r"(?<![\d)] )(?<!(?<!['\N{RIGHT SINGLE QUOTATION MARK}])\b\w )"
    r"(?<!\bplus )(?<!\boder )(?<!\bor )\bminus (?=\d)",
    re.IGNORECASE,
)
"""Before a negative number; no subtraction, nor `plus or minus`."""
_BEFORE_OTHER_MINUS = frozenset({"or", "oder", "plus"})
_LONGEST_WORD = 40
GROUPED_FROM = 10_000
"""Least number whose digits are grouped: four of them may be a year."""


class NumberInWords(NamedTuple):
    """A number that a text has in words."""

    span: Span
    value: int
    is_ordinal: bool = False


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The rules by which a language joins the words of a number."""

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


def words_below_100(ones: Sequence[str], tens: Sequence[str], join: str) -> dict[str, int]:
    """Return the numbers below 100 by their words; `join` has the fields `ten` and `one`."""
    found = {word: number for number, word in enumerate(ones, 1)}
    for number, ten in enumerate(tens, 2):
        found[ten] = 10 * number
        found |= {join.format(ten=ten, one=one): 10 * number + i for i, one in enumerate(ones[:9], 1)}
    return found


@dataclass(frozen=True, slots=True)
class NumberGrammar:
    """The rules by which a language writes numbers."""

    pattern: re.Pattern[str]
    """Finds what may be one."""
    known: NumberWords
    read: Callable[[re.Match[str], bool], NumberInWords | None]
    """Returns the number that was found, or None if it stays; a `minus` may stand before it."""
    write: Callable[[int, bool], str]
    """Returns a number in digits, or an ordinal one."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield the numbers in words, in order, with their digits."""
        has_minus = "minus " in text.lower()
        for words in self.pattern.finditer(text):
            before = max(0, words.start() - _LONGEST_WORD)
            minus = _MINUS.search(text, before, words.start()) if has_minus else None
            is_negative = minus is not None and self._is_sign(minus[1] or "")
            found = self.read(words, is_negative)
            if found is not None and minus is not None and is_negative and not found.is_ordinal:
                found = found._replace(span=Span(minus.start(2), found.span.end), value=-found.value)
            if found is not None:
                yield found.span, self.write(found.value, found.is_ordinal)

    def _is_sign(self, before: str) -> bool:
        """Return whether a `minus` after this word is a sign; else it subtracts, or follows `plus or`."""
        word = before.lower()
        if not word:
            return True
        is_word = len(word) > 1 and word[-1].isalpha()
        return is_word and word not in _BEFORE_OTHER_MINUS and not self.known.parts(word)


def _find_minus(text: str) -> Iterator[Found]:
    return ((Span(*minus.span()), "-") for minus in _BEFORE_DIGITS.finditer(text))


MINUS: Finder = after_signs(_find_minus, "minus ")
"""Finds each `minus` before a negative number in digits, which gets its sign."""
