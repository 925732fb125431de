"""Choice of the bundles that lead from one language to another: pure policy.

A bundle for exactly this pair (direct) is preferred to a multilingual one, and that to two bundles in a row
(pivot: de -> en -> fr). A bundle for one pair has seen more of it; a pivot adds up the errors of two models.
Bundles that are a fallback serve only the pairs that no other single bundle serves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from dragoman.errors import InputError, UnsupportedPair
from dragoman.languages import Languages, find_language, list_languages
from dragoman.reading.read_text import RewordedText
from dragoman.reading.reading_file import AS_WRITTEN, Reading
from dragoman.text.swiss import SWISS, is_swiss
from dragoman.types import Pair

PIVOTS = ("en",)
"""Most existing bundles translate from or into English."""
MAX_NAMED = 12
"""Maximum number of bundles that an error lists."""
MAX_NAME_LENGTH = 255
"""Maximum characters of the name of a language or bundle; longer ones are rejected and not cached."""
CACHE_SIZE = 16384
"""Size of each cache, of language codes by name and of routes."""
_IMPORTABLE = re.compile("[a-z]{2,3}-[a-z]{2,3}")
"""A pair that `dragoman import` takes."""


class RouteKind(IntEnum):
    """Kind of route, in order of preference."""

    DIRECT = 0
    """One bundle that serves only this pair."""
    MULTILINGUAL = 1
    """One bundle of several pairs."""
    PIVOT = 2
    """Two bundles, through a third language."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A bundle that routes may use."""

    name: str
    """Unique among the offers."""
    title: str
    """Name in its manifest."""
    languages: Languages
    formality_targets: frozenset[str] = frozenset()
    """Target languages in which it knows forms of address."""
    is_fallback: bool = False
    """Whether it serves only the pairs that no single offer without this mark serves."""
    reading: Reading = AS_WRITTEN
    """Text that its model reads in place of each text as it is written."""

    @property
    def way(self) -> RouteKind:
        return RouteKind.DIRECT if self.languages.is_single_pair else RouteKind.MULTILINGUAL


class Step(NamedTuple):
    """One bundle on a route."""

    offer: Offer
    pair: Pair
    """Languages, in the bundle's own codes."""


@dataclass(frozen=True, slots=True)
class Route:
    """One step, or two through a pivot."""

    steps: tuple[Step, ...]
    variant: str | None = None
    """Variant of the target language in whose spelling the translation is written; None for the model's."""

    @property
    def pair(self) -> Pair:
        served = self.served_pair
        return served if self.variant is None else Pair(served.source, self.variant)

    @property
    def served_pair(self) -> Pair:
        """Return the languages in the bundles' own codes."""
        return Pair(self.steps[0].pair.source, self.steps[-1].pair.target)

    def read(self, segment: str) -> RewordedText | None:
        """Return what the first model reads for a segment, but for respelling; None for the segment."""
        first = self.steps[0]
        return first.offer.reading.read(segment, first.pair.source)

    @property
    def knows_formality(self) -> bool:
        """Return whether a request may choose how the translation addresses people."""
        return self.served_pair.target in self.steps[-1].offer.formality_targets

    @property
    def way(self) -> RouteKind:
        return RouteKind.PIVOT if len(self.steps) > 1 else self.steps[0].offer.way


class Routes:
    """Finds routes among offers, in any order. Safe to use from several threads."""

    def __init__(self, offers: Iterable[Offer], pivots: Sequence[str] = PIVOTS) -> None:
        """Create an empty cache of routes.

        Args:
            offers: bundles with distinct names.
            pivots: preferred pivot languages, best first; all others come after them.
        """
        self.offers = tuple(sorted(offers, key=lambda offer: offer.name))
        self._pivots = tuple(pivots)
        self._source_code = lru_cache(CACHE_SIZE)(self._find_source)
        self._target_code = lru_cache(CACHE_SIZE)(self._find_target)
        self._cached_find = lru_cache(CACHE_SIZE)(self._find)
        self._sources_of = lru_cache(CACHE_SIZE)(self._find_sources)

    def find(self, source: str | None, target: str | None, model: str | None = None) -> Route:
        """Return the best route.

        Args:
            source: a language, by code or any name that a bundle has for it; None if only one is possible.
            target: the same.
            model: the only bundle to use, by its name, or by its title if that is unique.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and several are possible.
            InputError: there is no such model.
        """
        for field, name in (("source", source), ("target", target), ("model", model)):
            _check_length(field, name)
        return self._cached_find(source, target, model)

    def named(self, model: str) -> Offer:
        """Return the offer with this name, or else the only one with this title; fallbacks come last.

        Raises:
            InputError: there is none, or several have this title.
        """
        for offer in self.offers:
            if offer.name == model:
                return offer
        titled = [offer for offer in self.offers if offer.title == model]
        found = [offer for offer in titled if not offer.is_fallback] or titled
        if len(found) == 1:
            return found[0]
        problem = "several models have this name; choose one" if found else "no such model; available are"
        raise InputError("model", f"{problem}: {_list_few([offer.name for offer in found or self.offers])}")

    def all_from(self, source: str) -> Iterator[tuple[str, Route]]:
        """Yield the code of every language that a source can be translated into, and the best route."""
        for target in sorted({code for offer in self.offers for code in offer.languages.targets}):
            route = self._best(range(len(self.offers)), source, target)
            if route is not None:
                yield target, route

    def replaced(self) -> list[tuple[Offer, Offer]]:
        """Return each fallback with an offer that serves a pair in its place."""
        return [
            (offer, other)
            for offer in self.offers
            if offer.is_fallback
            for other in self.offers
            if not other.is_fallback and _share_a_pair(offer.languages, other.languages)
        ]

    def sources(self) -> list[str]:
        """Return the codes of all source languages."""
        return sorted({code for offer in self.offers for code in offer.languages.sources})

    def targets(self) -> list[str]:
        """Return the codes of all target languages."""
        return sorted({code for offer in self.offers for code in offer.languages.targets})

    def formality_targets(self) -> frozenset[str]:
        """Return the codes of the target languages in which a model knows forms of address."""
        return frozenset().union(*(offer.formality_targets for offer in self.offers))

    def sources_of(self, target: str | None, model: str | None = None) -> tuple[str, ...]:
        """Return the codes of the languages that can be translated into a target; of all, if it is None.

        Raises:
            UnsupportedPair: nothing translates into it.
            InputError: there is no such model.
        """
        for field, name in (("target", target), ("model", model)):
            _check_length(field, name)
        return self._sources_of(target, model)

    def _find(self, source: str | None, target: str | None, model: str | None) -> Route:
        among = range(len(self.offers)) if model is None else [self.offers.index(self.named(model))]
        remedy = _remedy(source, target) if model is None else ""
        self._check_known("source", source, among, remedy)
        self._check_known("target", target, among, remedy)
        if source is None or target is None:
            source, target = self._only_pair(source, target, among)
        route = self._best(among, source, target)
        if route is None:
            problem = "no model translates from the source into this language"
            raise self._unsupported("target", problem, among, remedy)
        return replace(route, variant=SWISS) if is_swiss(target, route.served_pair.target) else route

    def _find_sources(self, target: str | None, model: str | None) -> tuple[str, ...]:
        among = range(len(self.offers)) if model is None else [self.offers.index(self.named(model))]
        self._check_known("target", target, among)
        codes = sorted({code for index in among for code in self.offers[index].languages.sources})
        return tuple(code for code in codes if target is None or self._best(among, code, target) is not None)

    def _check_known(
        self, field: str, wanted_code: str | None, among: Sequence[int], remedy: str = ""
    ) -> None:
        code = self._source_code if field == "source" else self._target_code
        if wanted_code is not None and all(code(index, wanted_code) is None for index in among):
            raise self._unsupported(field, "this language is not served", among, remedy)

    def _best(self, among: Sequence[int], source: str, target: str) -> Route | None:
        step = self._best_step(among, source, target)
        return Route((step,)) if step is not None else self._best_pivot(among, source, target)

    def _best_step(self, among: Sequence[int], source: str, target: str) -> Step | None:
        """Return the best single bundle: no fallback, of one pair, and with the requested codes."""
        steps = [
            Step(self.offers[index], pair)
            for index in among
            if (pair := self._serves(index, source, target)) is not None
        ]
        return min(
            steps,
            key=lambda step: (
                step.offer.is_fallback,
                step.offer.way,
                (step.pair.source != source) + (step.pair.target != target),
            ),
            default=None,
        )

    def _serves(self, index: int, source: str, target: str) -> Pair | None:
        codes = self._source_code(index, source), self._target_code(index, target)
        if codes[0] is None or codes[1] is None:
            return None
        is_pair = codes[0] != codes[1] or self.offers[index].languages.is_single_pair
        return Pair(codes[0], codes[1]) if is_pair else None

    def _best_pivot(self, among: Sequence[int], source: str, target: str) -> Route | None:
        """Try the preferred pivots in order; then prefer those with fewer multilingual bundles."""
        if source == target:
            return None
        for pivot in self._pivots:
            route = self._pivot_route(among, source, pivot, target)
            if route is not None:
                return route
        others = {
            code
            for index in among
            if self._source_code(index, source) is not None
            for code in self.offers[index].languages.targets
        }
        routes = [
            route for pivot in sorted(others) if (route := self._pivot_route(among, source, pivot, target))
        ]
        return min(routes, key=lambda route: sum(step.offer.way for step in route.steps), default=None)

    def _pivot_route(self, among: Sequence[int], source: str, pivot: str, target: str) -> Route | None:
        first = self._best_step(among, source, pivot)
        if first is None:
            return None
        second = self._best_step(among, first.pair.target, target)
        if second is None:
            return None
        came_from = self._target_code(self.offers.index(second.offer), first.pair.source)
        # Reject routes back to the source language, and steps from a language to itself.
        is_real = came_from != second.pair.target and all(len(set(step.pair)) > 1 for step in (first, second))
        return Route((first, second)) if is_real else None

    def _only_pair(self, source: str | None, target: str | None, among: Sequence[int]) -> Pair:
        """Return the only pair that fits the given languages.

        Raises:
            UnsupportedPair: none fits, or several do.
        """
        found: set[Pair] = set()
        for pair in self._possible(source, target, among):
            found.add(pair)
            if len(found) > 1:
                field = "source" if source is None else "target"
                raise self._unsupported(field, "choose a language", among)
        if not found:
            field = "source" if target is None else "target"
            raise self._unsupported(field, "this language is not served", among)
        return found.pop()

    def _possible(self, source: str | None, target: str | None, among: Sequence[int]) -> Iterator[Pair]:
        for index in among:
            languages = self.offers[index].languages
            sources = languages.sources if source is None else [source]
            targets = languages.targets if target is None else [target]
            for each_source in sources:
                for each_target in targets:
                    pair = self._serves(index, each_source, each_target)
                    if pair is not None:
                        yield pair
        yield from self._possible_pivots(source, target, among)

    def _possible_pivots(
        self, source: str | None, target: str | None, among: Sequence[int]
    ) -> Iterator[Pair]:
        sources = self.sources() if source is None else [source]
        targets = {code for index in among for code in self.offers[index].languages.targets}
        for each_source in sources:
            for each_target in sorted(targets) if target is None else [target]:
                route = self._best(among, each_source, each_target)
                if route is not None:
                    yield route.pair

    def _find_source(self, index: int, wanted_code: str) -> str | None:
        sources = self.offers[index].languages.sources
        return wanted_code if wanted_code in sources else find_language(wanted_code, sources)

    def _find_target(self, index: int, wanted_code: str) -> str | None:
        targets = self.offers[index].languages.targets
        return wanted_code if wanted_code in targets else find_language(wanted_code, targets)

    def _unsupported(
        self, field: str, problem: str, among: Sequence[int], remedy: str = ""
    ) -> UnsupportedPair:
        served = _list_few(list(dict.fromkeys(describe(self.offers[index].languages) for index in among)))
        return UnsupportedPair(field, f"{problem}; served: {served}{remedy}")


def _remedy(source: str | None, target: str | None) -> str:
    """Return what to do if a pair of two different languages is not served; nothing for other names."""
    pair = f"{source}-{target}"
    if source == target or not _IMPORTABLE.fullmatch(pair):
        return ""
    return f"; `dragoman import {pair}` lists models to add"


def _check_length(field: str, name: str | None) -> None:
    if name is not None and len(name) > MAX_NAME_LENGTH:
        raise InputError(field, f"{len(name)} characters exceed the limit of {MAX_NAME_LENGTH} for names")


def _share_a_pair(one: Languages, other: Languages) -> bool:
    return bool(one.sources.keys() & other.sources.keys() and one.targets.keys() & other.targets.keys())


def describe(languages: Languages) -> str:
    """Describe the pairs briefly: `de -> en`, `101 languages -> 101 languages`."""
    return f"{list_languages(languages.sources)} -> {list_languages(languages.targets)}"


def _list_few(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_NAMED]) or "none"
    return listed if len(names) <= MAX_NAMED else f"{listed} and {len(names) - MAX_NAMED} more"
