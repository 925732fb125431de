"""Terms as requests have them: a source term, with one target term, several or none."""

from collections.abc import Iterable, Sequence
from typing import Any

from dragoman.terms import Term
from service.glossaries.entries import EntryCollector
from service.glossaries.terminology import MAX_TERMS, RequestTerms


def collect_terms(items: Iterable[tuple[str, Sequence[str]]], collector: EntryCollector) -> tuple[Term, ...]:
    """Return terms, each given by its source term and its target terms.

    Raises:
        GlossaryInvalid: naming the item, by its position from 0.
    """
    for position, (source, targets) in enumerate(items):
        collector.add(source, targets, f"{collector.name}[{position}]")
    return collector.collected()


def read_request_terms(items: Sequence[tuple[str, Sequence[str]]], forbidden: Sequence[str]) -> RequestTerms:
    """Return the terms and the forbidden phrases of a request itself.

    Args:
        items: source term and target terms of each term.
        forbidden: phrases that no translation may contain.

    Raises:
        GlossaryInvalid: naming the item.
        InputError: a forbidden phrase cannot be used.
    """
    collector = EntryCollector("terms", MAX_TERMS, "store them as a glossary")
    return RequestTerms(collect_terms(items, collector) if items else (), tuple(forbidden))


def present_terms(terms: Sequence[Term]) -> list[dict[str, Any]]:
    """Return terms as objects, with `target` if there is one and `targets` if there are several."""
    return [{"source": term.source, **_present_targets(term.targets)} for term in terms]


def _present_targets(targets: tuple[str, ...]) -> dict[str, Any]:
    if len(targets) > 1:
        return {"targets": list(targets)}
    return {"target": targets[0]} if targets else {}
