"""Which bundles a text goes through from one language to another: pure policy.

A bundle for exactly this pair (direct) goes before one of many languages, and that before two in turn
(pivot: de -> en -> fr). A bundle of its own has seen more of its pair; a pivot adds up two models' errors.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from dragoman.errors import InputError, UnsupportedPair
from dragoman.languages import Languages, find_language, list_languages
from dragoman.types import Pair

PIVOTS = ("en",)
"""Most bundles there are translate from or into English."""
MAX_NAMED = 12
"""Bundles that an error lists."""
MAX_NAME_LENGTH = 255
"""Of a language or a bundle; what is longer is not looked up, and so not remembered."""
MAX_REMEMBERED = 16384
"""Names of languages whose codes are remembered, and routes."""


class Way(IntEnum):
    """How a text gets from one language to another, the most wanted way first."""

    DIRECT = 0
    """By a bundle that serves this pair alone."""
    MULTILINGUAL = 1
    """By a bundle of several pairs."""
    PIVOT = 2
    """By two bundles, through a third language."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A bundle that may be used."""

    name: str
    """No other offer has it."""
    title: str
    """What its manifest calls it."""
    languages: Languages

    @property
    def way(self) -> Way:
        return Way.DIRECT if self.languages.is_single_pair else Way.MULTILINGUAL


class Step(NamedTuple):
    """One bundle on a route."""

    offer: Offer
    pair: Pair
    """In the bundle's own codes."""


@dataclass(frozen=True, slots=True)
class Route:
    """One step, or two through a pivot."""

    steps: tuple[Step, ...]

    @property
    def pair(self) -> Pair:
        return Pair(self.steps[0].pair.source, self.steps[-1].pair.target)

    @property
    def way(self) -> Way:
        return Way.PIVOT if len(self.steps) > 1 else self.steps[0].offer.way


def find_route(
    offers: Iterable[Offer],
    source: str | None,
    target: str | None,
    *,
    model: str | None = None,
    pivots: Sequence[str] = PIVOTS,
) -> Route:
    """The best route of one text; see `Routes`, which remembers what it has found."""
    return Routes(offers, pivots).find(source, target, model)


class Routes:
    """Finds routes among offers, whose order does not matter. Safe to use from several threads."""

    def __init__(self, offers: Iterable[Offer], pivots: Sequence[str] = PIVOTS) -> None:
        """Look at nothing yet.

        Args:
            offers: each of another name.
            pivots: languages to go through, the most wanted first; any other comes after them.
        """
        self.offers = tuple(sorted(offers, key=lambda offer: offer.name))
        self._pivots = tuple(pivots)
        self._source_code = lru_cache(MAX_REMEMBERED)(self._find_source)
        self._target_code = lru_cache(MAX_REMEMBERED)(self._find_target)
        self._remembered = lru_cache(MAX_REMEMBERED)(self._find)
        self._sources_of = lru_cache(MAX_REMEMBERED)(self._find_sources)

    def find(self, source: str | None, target: str | None, model: str | None = None) -> Route:
        """The best route.

        Args:
            source: a language by its code or any name a bundle has for it; None where only one is possible.
            target: the same.
            model: the only bundle to use, by its name, or its title if no other has it.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and there are several.
            InputError: there is no such model.
        """
        for field, name in (("source", source), ("target", target), ("model", model)):
            _check_length(field, name)
        return self._remembered(source, target, model)

    def named(self, model: str) -> Offer:
        """The offer of a name, or else the only one of a title.

        Raises:
            InputError: there is none, or there are several of that title.
        """
        for offer in self.offers:
            if offer.name == model:
                return offer
        found = [offer for offer in self.offers if offer.title == model]
        if len(found) == 1:
            return found[0]
        problem = "several go by this name; say which" if found else "there is no such model here; there are"
        raise InputError("model", f"{problem}: {_list_few([offer.name for offer in found or self.offers])}")

    def all_from(self, source: str) -> Iterator[tuple[str, Route]]:
        """Every language that a source reaches, both by their codes, and the best route to it."""
        for target in sorted({code for offer in self.offers for code in offer.languages.targets}):
            route = self._best(range(len(self.offers)), source, target)
            if route is not None:
                yield target, route

    def sources(self) -> list[str]:
        """Codes of all languages that something translates from."""
        return sorted({code for offer in self.offers for code in offer.languages.sources})

    def targets(self) -> list[str]:
        """Codes of all languages that something translates into."""
        return sorted({code for offer in self.offers for code in offer.languages.targets})

    def sources_of(self, target: str | None, model: str | None = None) -> tuple[str, ...]:
        """Codes of the languages that something translates into a target; of all, where it is left open.

        Raises:
            UnsupportedPair: nothing translates into it.
            InputError: there is no such model.
        """
        for field, name in (("target", target), ("model", model)):
            _check_length(field, name)
        return self._sources_of(target, model)

    def _find(self, source: str | None, target: str | None, model: str | None) -> Route:
        among = range(len(self.offers)) if model is None else [self.offers.index(self.named(model))]
        self._check_known("source", source, among)
        self._check_known("target", target, among)
        if source is None or target is None:
            source, target = self._only_pair(source, target, among)
        route = self._best(among, source, target)
        if route is None:
            raise self._refusal("target", "nothing here translates the source into this language", among)
        return route

    def _find_sources(self, target: str | None, model: str | None) -> tuple[str, ...]:
        among = range(len(self.offers)) if model is None else [self.offers.index(self.named(model))]
        self._check_known("target", target, among)
        codes = sorted({code for index in among for code in self.offers[index].languages.sources})
        return tuple(code for code in codes if target is None or self._best(among, code, target) is not None)

    def _check_known(self, field: str, asked: str | None, among: Sequence[int]) -> None:
        code = self._source_code if field == "source" else self._target_code
        if asked is not None and all(code(index, asked) is None for index in among):
            raise self._refusal(field, "this language is not served here", among)

    def _best(self, among: Sequence[int], source: str, target: str) -> Route | None:
        step = self._hop(among, source, target)
        return Route((step,)) if step is not None else self._best_pivot(among, source, target)

    def _hop(self, among: Sequence[int], source: str, target: str) -> Step | None:
        """The best single bundle. Of two alike, the one that has the languages by the very names asked."""
        steps = [
            Step(self.offers[index], pair)
            for index in among
            if (pair := self._serves(index, source, target)) is not None
        ]
        return min(
            steps,
            key=lambda step: (step.offer.way, (step.pair.source != source) + (step.pair.target != target)),
            default=None,
        )

    def _serves(self, index: int, source: str, target: str) -> Pair | None:
        codes = self._source_code(index, source), self._target_code(index, target)
        if codes[0] is None or codes[1] is None:
            return None
        is_pair = codes[0] != codes[1] or self.offers[index].languages.is_single_pair
        return Pair(codes[0], codes[1]) if is_pair else None

    def _best_pivot(self, among: Sequence[int], source: str, target: str) -> Route | None:
        """Pivots that were asked for in their order; then those with fewer bundles of many languages."""
        if source == target:
            return None
        for pivot in self._pivots:
            route = self._through(among, source, pivot, target)
            if route is not None:
                return route
        others = {
            code
            for index in among
            if self._source_code(index, source) is not None
            for code in self.offers[index].languages.targets
        }
        routes = [route for pivot in sorted(others) if (route := self._through(among, source, pivot, target))]
        return min(routes, key=lambda route: sum(step.offer.way for step in route.steps), default=None)

    def _through(self, among: Sequence[int], source: str, pivot: str, target: str) -> Route | None:
        first = self._hop(among, source, pivot)
        if first is None:
            return None
        second = self._hop(among, first.pair.target, target)
        if second is None:
            return None
        came_from = self._target_code(self.offers.index(second.offer), first.pair.source)
        # Back to where it came from is no translation, and a language is no way to itself.
        is_real = came_from != second.pair.target and all(len(set(step.pair)) > 1 for step in (first, second))
        return Route((first, second)) if is_real else None

    def _only_pair(self, source: str | None, target: str | None, among: Sequence[int]) -> Pair:
        """The only pair that fits what is given.

        Raises:
            UnsupportedPair: there are several.
        """
        found: set[Pair] = set()
        for pair in self._possible(source, target, among):
            found.add(pair)
            if len(found) > 1:
                field = "source" if source is None else "target"
                raise self._refusal(field, "say which language", among)
        if not found:
            field = "source" if target is None else "target"
            raise self._refusal(field, "this language is not served here", among)
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

    def _find_source(self, index: int, asked: str) -> str | None:
        sources = self.offers[index].languages.sources
        return asked if asked in sources else find_language(asked, sources)

    def _find_target(self, index: int, asked: str) -> str | None:
        targets = self.offers[index].languages.targets
        return asked if asked in targets else find_language(asked, targets)

    def _refusal(self, field: str, problem: str, among: Sequence[int]) -> UnsupportedPair:
        served = _list_few(list(dict.fromkeys(describe(self.offers[index].languages) for index in among)))
        return UnsupportedPair(field, f"{problem}; served: {served}")


def _check_length(field: str, name: str | None) -> None:
    if name is not None and len(name) > MAX_NAME_LENGTH:
        raise InputError(field, f"{len(name)} characters; no name has more than {MAX_NAME_LENGTH}")


def describe(languages: Languages) -> str:
    """Pairs in a few words: `de -> en`, `101 languages -> 101 languages`."""
    return f"{list_languages(languages.sources)} -> {list_languages(languages.targets)}"


def _list_few(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_NAMED]) or "none"
    return listed if len(names) <= MAX_NAMED else f"{listed} and {len(names) - MAX_NAMED} more"
