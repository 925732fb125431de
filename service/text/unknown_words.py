"""The words of a text that a route's model cannot read, without those that the request's terms translate."""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.terms import Terminology
from dragoman.text.term_index import TermIndex
from dragoman.types import Span

CACHED_TERMINOLOGIES = 8


@dataclass(frozen=True, slots=True)
class UnknownWords:
    """Finds the words that the model of a route cannot read."""

    router: Router
    route: Route
    terminology: Terminology | None

    def find(self, text: str) -> Sequence[Span]:
        """Return the words, in order; none that a term has a translation for."""
        unknown = self.router.unknown_spans(self.route, text)
        if not unknown or self.terminology is None:
            return unknown
        return _without_overlaps(unknown, self.find_terms(text))

    def find_terms(self, text: str) -> Sequence[Span]:
        """Return the terms of a text that have a translation, in order."""
        if self.terminology is None:
            return ()
        matches = _term_index(self.terminology, self.route.pair.source).find(text)
        return [match.span for match in matches if match.term.targets]


def _without_overlaps(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of the others, which are in order and apart from each other."""
    ends = [other.end for other in others]
    starts = [*(other.start for other in others), sys.maxsize]
    return [span for span in spans if span.end <= starts[bisect_right(ends, span.start)]]


@lru_cache(CACHED_TERMINOLOGIES)
def _term_index(terminology: Terminology, language: str) -> TermIndex:
    return TermIndex(terminology.terms, language)
