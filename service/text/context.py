"""Facts that the plan of a text depends on besides the text."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dragoman.decoding.options import DecodingOptions
from dragoman.reading.read_text import RewordedText
from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.terms import Terminology
from dragoman.text.term_index import TermIndex, TermMatch
from dragoman.types import Pair, Span, Splitting
from service.text.options import PlaceholderMode
from service.text.searching import never_pause


class FoundTerm(NamedTuple):
    """A term of a text that has a translation."""

    start: int
    end: int
    put: str | None = None
    """Its translation, if the model cannot spell that, or else None: the engine requires it of the model."""
    alone: str | None = None
    """Its translation where it is a line of its own; None for an inflected term."""


CACHED_TERMINOLOGIES = 8


def find_nothing(_text: str) -> tuple[()]:
    """Return no part of a text, and no terms."""
    return ()


def read_as_written(_segment: str) -> None:
    """Return that a model reads a segment as it is written."""


@dataclass(frozen=True, slots=True)
class TextContext:
    """Languages, kind and model of a text."""

    source: str
    """BCP-47 code of its language."""
    target: str
    """BCP-47 code of the language to translate into."""
    is_message: bool = False
    """Whether it is a text of a user interface: it may have an accelerator, and all checks count."""
    find_unknown: Callable[[str], Sequence[Span]] = find_nothing
    """Returns the words of a text that the model cannot read, in order: these are kept like placeholders."""
    find_terms: Callable[[str], Sequence[FoundTerm]] = find_nothing
    """Returns the terms of a text that have a translation, in order: these are translated in any case."""
    read: Callable[[str], RewordedText | None] = read_as_written
    """Returns what the model reads for a segment; None for the segment itself."""
    splitting: Splitting = Splitting.SENTENCES
    """Splitting of texts in the request."""
    placeholders: PlaceholderMode = PlaceholderMode.AUTO
    has_prefix: bool = False
    """Whether the translation has a given beginning, in which there are no stand-ins."""
    pause: Callable[[], None] = never_pause
    """Called now and then while a text is planned and put together; it may sleep, or raise to end that."""

    @property
    def shows_objects(self) -> bool:
        """Return whether the model sees stand-ins."""
        return self.placeholders is PlaceholderMode.AUTO and not self.has_prefix


def route_context(
    router: Router, route: Route, options: DecodingOptions, placeholders: PlaceholderMode
) -> TextContext:
    """Return the context of the texts that take a route."""
    unknown_words = UnknownWords(router, route, options.terminology)
    return TextContext(
        *route.served_pair,
        find_unknown=unknown_words.find,
        find_terms=unknown_words.find_terms,
        read=read_as_written if options.target_prefix else route.read,
        splitting=options.splitting,
        placeholders=placeholders,
        has_prefix=options.target_prefix != "",
    )


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
        matches = _term_index(self.terminology, self.route.served_pair).find(text)
        return [self._found(match) for match in matches if match.term.targets]

    def _found(self, match: TermMatch) -> FoundTerm:
        target = _in_case_of(match)
        put = None if self.router.can_spell(self.route, target) else target
        is_inflected = match.surface.casefold() != match.term.source.strip().casefold()
        return FoundTerm(*match.span, put, None if is_inflected else target)


def _in_case_of(match: TermMatch) -> str:
    """Return a term's preferred translation, with the capitals that the text has and the term has not."""
    target, surface, term_source = match.term.targets[0], match.surface, match.term.source.strip()
    if surface.isupper() and not term_source.isupper() and len(surface) > 1:
        return target.upper()
    return target[:1].upper() + target[1:] if surface[:1].isupper() and term_source[:1].islower() else target


def _without_overlaps(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of the others, which are in order and apart from each other."""
    ends = [other.end for other in others]
    starts = [*(other.start for other in others), sys.maxsize]
    return [span for span in spans if span.end <= starts[bisect_right(ends, span.start)]]


@lru_cache(CACHED_TERMINOLOGIES)
def _term_index(terminology: Terminology, pair: Pair) -> TermIndex:
    return TermIndex.of_sources(terminology.terms, pair)
