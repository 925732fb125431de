"""Short names of months and weekdays beside dates: `25 Nov`, `on Sat`, `Mo-Fr`.

They are the first letters of names; what is around them shows that they are no words.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from dragoman.reading.grammar import DASH, SPACE, Found
from dragoman.text.sentence_ends import refers
from dragoman.types import Span

_DASH = rf"{SPACE}?{DASH}{SPACE}?"
_START = r"(?<![\w.\\@#$=<{&`:|~])"
_DOT = rf"(?:\.(?=[,;:)]|{SPACE}[a-z(\d]))?"
"""A dot that ends no sentence."""
_LONGEST_BEFORE = 16


@dataclass(frozen=True)
class Calendar:
    """The names of a language, and what stands beside them, as patterns without groups."""

    months: Sequence[str]
    weekdays: Sequence[str]
    month_letters: Sequence[int]
    """Number of letters of short names of months."""
    weekday_letters: Sequence[int]
    words: Collection[str]
    """Short names that a dot alone does not tell from words or other names."""
    function_words: Collection[str]
    before_month: str
    after_month: str
    before_weekday: str
    after_weekday: str
    """A day or a time."""
    joint: str
    """A word between two weekdays."""
    to: str
    """Word to read for the dash between two weekdays."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield the short names beside dates, with what is read there."""
        if self._short_name.search(text) is None:
            return
        for found in self._month.finditer(text):
            group = found.lastgroup or ""
            name = found[group]
            if group != "first" or name not in self.words or refers(text, found.end(), self.function_words):
                yield Span(found.start(group), found.end()), self._full[name]
        yield from self._find_weekdays(text)

    def _find_weekdays(self, text: str) -> Iterator[Found]:
        days = list(self._weekday.finditer(text))
        joined = [self._joint.fullmatch(text, a.end(), b.start()) for a, b in pairwise(days)]
        for number, day in enumerate(days):
            name, has_dot = day[1], text[day.end(1) : day.end(1) + 1] == "."
            is_joined = any(joined[max(0, number - 1) : number + 1])
            if name in self._full and (
                is_joined or self._is_dated(day) or (has_dot and name not in self.words)
            ):
                yield Span(*day.span()), self._full[name]
        for joint in joined:
            if joint is not None and joint["dash"]:
                yield Span(*joint.span()), self.to

    def _is_dated(self, day: re.Match[str]) -> bool:
        """Return whether a weekday has a date or a time after it, or a word that stands before weekdays."""
        text, (start, end) = day.string, day.span()
        if self._after_weekday.match(text, end):
            return True
        before = self._before_weekday.search(text, max(0, start - _LONGEST_BEFORE), start)
        return before is not None and self._goes_on_with_capital.match(text, end) is None

    @cached_property
    def _full(self) -> dict[str, str]:
        """The names of the short ones."""
        kinds = ((self.months, self.month_letters), (self.weekdays, self.weekday_letters))
        return {
            name[:length]: name
            for names, lengths in kinds
            for name in names
            for length in lengths
            if length < len(name)
        }

    @cached_property
    def sign(self) -> re.Pattern[str]:
        """Pattern found in every text with a short name; it begins with letters, so that it is found fast."""
        return re.compile(rf"(?:{'|'.join(self._full)})\b")

    @cached_property
    def _short_name(self) -> re.Pattern[str]:
        return re.compile(rf"\b{self.sign.pattern}")

    @cached_property
    def _month(self) -> re.Pattern[str]:
        short = [name for name, full in self._full.items() if full in self.months]
        sure = "|".join(name for name in short if name not in self.words)
        name, start = f"(?:{'|'.join(short)})", rf"{_START}(?<![-/])"
        return re.compile(
            rf"{start}(?P<first>{name})\.?(?={self.after_month})"
            rf"|{start}(?:{self.before_month})(?P<last>{name})\b(?![-\w]){_DOT}"
            rf"|{start}(?P<dotted>{sure})(?=\.(?![\w-])){_DOT}"
        )

    @cached_property
    def _weekday(self) -> re.Pattern[str]:
        names = "|".join(
            (*self.weekdays, *(short for short, full in self._full.items() if full in self.weekdays))
        )
        return re.compile(rf"{_START}({names})\b(?!-(?!{names})\w)(?:\.(?={_DASH}|{SPACE}?[/&])|{_DOT})")

    @cached_property
    def _joint(self) -> re.Pattern[str]:
        return re.compile(rf"(?P<dash>{_DASH})|{SPACE}?[,/&]{SPACE}?|{SPACE}(?:{self.joint}){SPACE}")

    @cached_property
    def _before_weekday(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{self.before_weekday}){SPACE}\Z", re.IGNORECASE)

    @cached_property
    def _after_weekday(self) -> re.Pattern[str]:
        return re.compile(rf",?{SPACE}(?:{self.after_weekday})")

    @cached_property
    def _goes_on_with_capital(self) -> re.Pattern[str]:
        return re.compile(rf"\.?{SPACE}[A-ZÄÖÜ]|['\N{{RIGHT SINGLE QUOTATION MARK}}-]\w")
