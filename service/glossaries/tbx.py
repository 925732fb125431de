"""Entries in TermBase eXchange (TBX, ISO 30042), both its second version and the first.

A concept is an entry: each of its terms in the source language, with all of its terms in the target language
as allowed translations.
"""

from collections.abc import Iterator
from typing import IO

from dragoman.terms import Term
from dragoman.types import Pair
from service.formats.entries import FileFormatError
from service.formats.xml_tree import Chars, Element, Name
from service.formats.xml_units import XML_NAMESPACE, xml_units
from service.glossaries.entries import EntryCollector
from service.glossaries.languages import is_variant

NAMESPACES = ("", "urn:iso:std:iso:30042:ed-2")
CONCEPTS = frozenset(
    Name(namespace, local) for namespace in NAMESPACES for local in ("conceptEntry", "termEntry")
)
LANGUAGE_SECTIONS = frozenset({"langSec", "langSet"})
TERM_SECTIONS = frozenset({"termSec", "tig", "ntig", "termGrp"})
NOT_TO_USE = ("deprecatedTerm", "supersededTerm")
"""Beginnings of the administrative status of terms that must not be used."""


def read_tbx(source: IO[bytes], pair: Pair, collector: EntryCollector) -> tuple[Term, ...]:
    """Return the entries of a file for a language pair.

    Concepts without a term in both languages are not entries, nor are deprecated or superseded terms.

    Args:
        source: seekable file.
        pair: languages of the entries.
        collector: limits and the field's name.

    Raises:
        GlossaryInvalid: the file is not TBX, or has an entry that cannot be used; the error names the line.
    """
    line = 1
    try:
        for part in xml_units(source, CONCEPTS, allows_doctype=True):
            if isinstance(part, str):
                line += part.count("\n")
                continue
            targets = list(dict.fromkeys(_terms(part, pair.target)))
            for term in dict.fromkeys(_terms(part, pair.source)) if targets else ():
                collector.add(term, targets, f"line {line}")
            line += part.raw.count("\n")
    except FileFormatError as error:
        raise collector.error(f"cannot be read as tbx: {error.problem}") from error
    return collector.collected()


def _terms(concept: Element, language: str) -> Iterator[str]:
    for section in _within(concept, LANGUAGE_SECTIONS):
        code = section.attribute("lang", XML_NAMESPACE) or section.attribute("lang") or ""
        if not is_variant(code, language):
            continue
        for term_section in _within(section, TERM_SECTIONS):
            if not _is_not_to_use(term_section):
                yield from (" ".join(_text(term).split()) for term in term_section.children("term"))


def _within(element: Element, names: frozenset[str]) -> Iterator[Element]:
    for child in element.elements:
        if child.local in names:
            yield child
            yield from _within(child, names)


def _is_not_to_use(section: Element) -> bool:
    notes = section.children("termNote")
    return any(
        note.attribute("type") == "administrativeStatus" and note.text.strip().startswith(NOT_TO_USE)
        for note in notes
    )


def _text(element: Element) -> str:
    return "".join(
        node.text if isinstance(node, Chars) else _text(node) if isinstance(node, Element) else ""
        for node in element.nodes
    )
