"""Maps positions between a text and what is made of it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from dragoman.types import Span


class Run(NamedTuple):
    """A part of a text, and the part of the other text that it corresponds to."""

    start: int
    end: int
    other: Span
    is_copy: bool = True
    """Whether both have the same characters; otherwise a position within is at one of the edges."""


_start_of = attrgetter("start")


class PositionMap:
    """Maps positions of one text to those of another, by runs in the order of both."""

    def __init__(self, runs: Sequence[Run], start: int) -> None:
        """Take the runs, and the position before the first one."""
        self._runs = runs
        self._start = start

    def start(self, at: int) -> int:
        """Return the position of a part that begins here: after what only the other text has."""
        i = bisect_right(self._runs, at, key=_start_of) - 1
        if i < 0:
            return self._start
        run = self._runs[i]
        if at >= run.end:
            return self._runs[i + 1].other.start if i + 1 < len(self._runs) else run.other.end
        return run.other.start + (at - run.start if run.is_copy else 0)

    def end(self, at: int) -> int:
        """Return the position of a part that ends here: before what only the other text has."""
        i = bisect_left(self._runs, at, key=_start_of) - 1
        if i < 0:
            return self._start
        run = self._runs[i]
        return run.other.start + at - run.start if run.is_copy and at < run.end else run.other.end

    def span(self, span: Span) -> Span:
        """Return the corresponding part; it has each replaced part of which the part has a piece."""
        start, end = self.start(span.start), self.end(span.end)
        return Span(start, max(start, end))

    def has_several(self, span: Span) -> bool:
        """Return whether a part has pieces of several replaced parts."""
        first = bisect_right(self._runs, span.start, key=_start_of) - 1
        last = bisect_left(self._runs, span.end, key=_start_of)
        return sum(not run.is_copy for run in self._runs[max(0, first) : last]) > 1
