"""The words of a text that a route's model cannot read, without those that the request's terms translate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.terms import Terminology
from dragoman.text.term_index import TermIndex
from dragoman.types import Span
from service.protection.text_context import without_overlaps

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
        matches = _term_index(self.terminology, self.route.pair.source).find(text)
        return without_overlaps(unknown, [match.span for match in matches if match.term.targets])


@lru_cache(CACHED_TERMINOLOGIES)
def _term_index(terminology: Terminology, language: str) -> TermIndex:
    return TermIndex(terminology.terms, language)
