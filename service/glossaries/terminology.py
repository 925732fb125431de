"""The terms of a request: of glossaries and of the request itself, by language pair."""

import json
import threading
from dataclasses import dataclass, field
from typing import Any

from dragoman.errors import InputError
from dragoman.terms import Term, Terminology
from dragoman.types import Pair
from service.formats.language_tags import is_variant
from service.glossaries.entries import Dictionary

MAX_TERMS = 1000
"""Maximum number of terms and of forbidden phrases in a request itself."""


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """The terms that a request itself has, for any language pair."""

    terms: tuple[Term, ...] = ()
    forbidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the forbidden phrases. Raises InputError."""
        if (count := len(self.forbidden)) > MAX_TERMS:
            raise InputError("forbidden", f"{count} phrases are over the limit of {MAX_TERMS}; send fewer")
        Terminology(forbidden=self.forbidden)  # checks each

    def __bool__(self) -> bool:
        return bool(self.terms or self.forbidden)


@dataclass(frozen=True, slots=True, eq=False)
class RequestTerminology:
    """All terms of a request. It gives the same object for a pair each time, so that engines can cache it.

    Compared by identity: equal requests share their work if they have the same object.
    """

    glossaries: tuple[tuple[Dictionary, ...], ...] = ()
    """Dictionaries of each glossary. Of entries with the same source term, the first glossary's counts."""
    requested: RequestTerms = field(default_factory=RequestTerms)
    """The request's own terms, which take precedence over those of glossaries."""
    _by_pair: dict[Pair, Terminology] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def num_terms(self) -> int:
        """Number of terms of all pairs, with forbidden phrases."""
        stored = sum(len(each.terms) for dictionaries in self.glossaries for each in dictionaries)
        return stored + len(self.requested.terms) + len(self.requested.forbidden)

    def select(self, pair: Pair) -> Terminology:
        """Return the terms for a language pair.

        Raises:
            InputError: a glossary has no entries for the pair.
        """
        with self._lock:
            known = self._by_pair.get(pair)
            if known is None:
                terms = [term for each in reversed(self.glossaries) for term in _find(each, pair).terms]
                known = Terminology((*terms, *self.requested.terms), self.requested.forbidden)
                self._by_pair[pair] = known
            return known

    def to_json(self) -> str:
        """Return a copy for storage."""
        glossaries = [
            [{"pair": each.pair, "terms": list(map(_row, each.terms))} for each in dictionaries]
            for dictionaries in self.glossaries
        ]
        requested = {"terms": list(map(_row, self.requested.terms)), "forbidden": self.requested.forbidden}
        return json.dumps({"glossaries": glossaries, "own": requested}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "RequestTerminology":
        """Read what `to_json` returned."""
        stored: dict[str, Any] = json.loads(text)
        glossaries = tuple(
            tuple(Dictionary(Pair(*each["pair"]), _terms(each["terms"])) for each in dictionaries)
            for dictionaries in stored["glossaries"]
        )
        requested = stored["own"]
        return cls(glossaries, RequestTerms(_terms(requested["terms"]), tuple(requested["forbidden"])))


def dump_terms(terms: tuple[Term, ...]) -> str:
    """Return entries as JSON: an array of a source term and its targets for each."""
    return json.dumps(list(map(_row, terms)), ensure_ascii=False, separators=(",", ":"))


def load_terms(text: str) -> tuple[Term, ...]:
    """Read what `dump_terms` returned."""
    return _terms(json.loads(text))


def _row(term: Term) -> list[str]:
    return [term.source, *term.targets]


def _terms(rows: list[list[str]]) -> tuple[Term, ...]:
    return tuple(Term(source, tuple(targets)) for source, *targets in rows)


def _find(dictionaries: tuple[Dictionary, ...], pair: Pair) -> Dictionary:
    """Return the dictionary of a pair; one of the same regions comes before one of others."""
    fitting = [
        each
        for each in dictionaries
        if is_variant(each.pair.source, pair.source) and is_variant(each.pair.target, pair.target)
    ]
    if not fitting:
        known = ", ".join(str(each.pair) for each in dictionaries) or "none"
        raise InputError("glossary", f"has no entries for {pair}; it has {known}")
    folded = tuple(code.casefold() for code in pair)
    exact = [each for each in fitting if tuple(code.casefold() for code in each.pair) == folded]
    return (exact or fitting)[0]
