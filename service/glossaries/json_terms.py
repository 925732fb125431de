"""Terms in JSON: objects with `source`, and with `target`, `targets` or neither."""

from collections.abc import Sequence
from typing import Any

from dragoman.terms import Term
from service.glossaries.entries import EntryCollector
from service.glossaries.errors import GlossaryInvalid
from service.glossaries.terminology import MAX_TERMS, RequestTerms

KNOWN = frozenset({"source", "target", "targets"})


def read_json_terms(items: object, collector: EntryCollector) -> tuple[Term, ...]:
    """Return the terms in an array of objects.

    Raises:
        GlossaryInvalid: naming the item, by its position from 0.
    """
    if not isinstance(items, list):
        raise collector.error("must be an array of objects")
    for position, item in enumerate(items):
        location = f"{collector.name}[{position}]"
        if not isinstance(item, dict) or not isinstance(item.get("source"), str):
            raise GlossaryInvalid(location, "must be an object with a string `source`")
        if unknown := sorted(item.keys() - KNOWN):
            raise GlossaryInvalid(location, f"{unknown[0][:80]!r} is not known; known are {', '.join(KNOWN)}")
        collector.add(item["source"], _targets(item, location), location)
    return collector.collected()


def read_request_terms(items: object, forbidden: Sequence[str]) -> RequestTerms:
    """Return the terms and the forbidden phrases of a request itself.

    Args:
        items: an array of objects as in `read_json_terms`; None or an empty one for no terms.
        forbidden: phrases that no translation may contain.

    Raises:
        GlossaryInvalid: naming the item.
        InputError: a forbidden phrase cannot be used.
    """
    collector = EntryCollector("terms", MAX_TERMS, "store them as a glossary")
    terms = read_json_terms(items, collector) if items not in (None, []) else ()
    return RequestTerms(terms, tuple(forbidden))


def present_terms(terms: Sequence[Term]) -> list[dict[str, Any]]:
    """Return terms as objects, with `target` if there is one and `targets` if there are several."""
    return [{"source": term.source, **_present_targets(term.targets)} for term in terms]


def _present_targets(targets: tuple[str, ...]) -> dict[str, Any]:
    if len(targets) > 1:
        return {"targets": list(targets)}
    return {"target": targets[0]} if targets else {}


def _targets(item: dict[str, Any], location: str) -> list[str]:
    target, targets = item.get("target"), item.get("targets")
    if target is not None and targets is not None:
        raise GlossaryInvalid(location, "has `target` and `targets`; send one of them")
    found = [target] if target is not None else [] if targets is None else targets
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise GlossaryInvalid(location, "`target` must be a string, and `targets` an array of strings")
    return found
