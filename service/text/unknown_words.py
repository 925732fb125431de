"""The words of a text that a route's model cannot read, and the terms that the request translates."""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.terms import Terminology
from dragoman.text.term_index import TermIndex, TermMatch
from dragoman.types import Span
from service.text.context import FoundTerm

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
        return _without_overlaps(unknown, [Span(*term[:2]) for term in self.find_terms(text)])

    def find_terms(self, text: str) -> Sequence[FoundTerm]:
        """Return the terms of a text that have a translation, in order."""
        if self.terminology is None:
            return ()
        matches = _term_index(self.terminology, self.route.pair.source).find(text)
        return [self._found(match) for match in matches if match.term.targets]

    def _found(self, match: TermMatch) -> FoundTerm:
        target = _in_case_of(match)
        put = None if self.router.can_spell(self.route, target) else target
        is_inflected = match.surface.casefold() != match.term.source.strip().casefold()
        return FoundTerm(*match.span, put, None if is_inflected else target)


def _in_case_of(match: TermMatch) -> str:
    """Return a term's preferred translation, with the capitals that the text has and the term has not."""
    target, surface, own = match.term.targets[0], match.surface, match.term.source.strip()
    if surface.isupper() and not own.isupper() and len(surface) > 1:
        return target.upper()
    return target[:1].upper() + target[1:] if surface[:1].isupper() and own[:1].islower() else target


def _without_overlaps(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of the others, which are in order and apart from each other."""
    ends = [other.end for other in others]
    starts = [*(other.start for other in others), sys.maxsize]
    return [span for span in spans if span.end <= starts[bisect_right(ends, span.start)]]


@lru_cache(CACHED_TERMINOLOGIES)
def _term_index(terminology: Terminology, language: str) -> TermIndex:
    return TermIndex(terminology.terms, language)
