"""Files whose content is records instead of entries: translation memories and glossaries.

A record is a JSON list, so that a separate process can read the file: see `isolation`.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import IO, Any

from service.formats.entries import FileFormatError
from service.formats.language_tags import is_variant, matches_language
from service.formats.xml_tree import Chars, Element, Name
from service.formats.xml_units import xml_units

_BYTE_ORDER_MARK = "\ufeff"
_UNIT = Name("", "tu")
_SOURCE_LANGUAGE = re.compile(r"<header\b[^>]*?\bsrclang\s*=\s*[\"']([^\"'<>]{1,64})[\"']")
_CODES = frozenset(["bpt", "ept", "it", "ph", "ut"])
"""Elements of TMX whose content is the code of another format, such as `%s`."""
_CONCEPTS = frozenset(
    Name(namespace, local)
    for namespace in ("", "urn:iso:std:iso:30042:ed-2")
    for local in ("conceptEntry", "termEntry")
)
_LANGUAGE_SECTIONS = frozenset({"langSec", "langSet"})
_TERM_SECTIONS = frozenset({"termSec", "tig", "ntig", "termGrp"})
_NOT_TO_USE = ("deprecatedTerm", "supersededTerm")
"""Beginnings of the administrative status of terms that must not be used."""

Record = list[Any]


class RecordKind(StrEnum):
    """The kinds of files with records."""

    TMX = "tmx"
    """Records: `[source text, target text]`; an empty one for a unit without a pair."""
    TMX_LANGUAGES = "tmx languages"
    """One record: the languages of the first unit, its source language first."""
    TBX = "tbx"
    """Records: `[line, source terms, target terms]`; one for each concept with terms in both languages."""
    CSV = "csv"
    """Records: `[line, fields]`; double quotation marks quote a field."""
    TSV = "tsv"
    """Records: `[line, fields]`; quotation marks have no special meaning."""


def parse_records(kind: RecordKind, source: IO[bytes], languages: tuple[str, str]) -> Iterator[Record]:
    """Yield the records of a file in this process, lazily.

    Args:
        kind: kind of the file.
        source: seekable file; it is read from its beginning.
        languages: source and target language of what to find; tables have no languages.

    Raises:
        FileFormatError: the file cannot be read.
    """
    source.seek(0)
    return _PARSERS[kind](source, languages)


def parse_rows(text: str, kind: RecordKind) -> Iterator[Record]:
    """Yield the line number from 1, and the fields, of each line of a table that has any.

    Raises:
        FileFormatError: a line cannot be read.
    """
    lines = io.StringIO(text.removeprefix(_BYTE_ORDER_MARK), newline="")
    if kind is RecordKind.TSV:
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, strict=True)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield [start, fields]
            start = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"line {start} cannot be read as {kind}: {error}") from error


def _rows(kind: RecordKind, source: IO[bytes], _: tuple[str, str]) -> Iterator[Record]:
    try:
        text = source.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"is not UTF-8 at byte {error.start}; save it in UTF-8") from error
    return parse_rows(text, kind)


def _tmx_pairs(source: IO[bytes], languages: tuple[str, str]) -> Iterator[Record]:
    for unit in xml_units(source, frozenset([_UNIT]), allows_doctype=True):
        if isinstance(unit, Element):
            variants = unit.children("tuv")
            segments = [_segment(variants, language) for language in languages]
            yield segments if all(segments) else []


def _tmx_languages(source: IO[bytes], _: tuple[str, str]) -> Iterator[Record]:
    declared = ""
    for part in xml_units(source, frozenset([_UNIT]), allows_doctype=True):
        if isinstance(part, Element):
            found = [variant.language for variant in part.children("tuv") if variant.language]
            first = next((code for code in found if is_variant(code, declared)), "".join(found[:1]))
            yield [first, *(code for code in found if not is_variant(code, first))]
            return
        if (header := _SOURCE_LANGUAGE.search(part)) is not None:
            declared = header[1]


def _segment(variants: list[Element], language: str) -> str | None:
    """Return the text of the first variant in a language; None if there is none that plain text can hold."""
    for variant in variants:
        if matches_language(variant.language, language):
            segments = variant.children("seg")
            text = _segment_text(segments[0]) if segments else None
            return text if text and text.strip() else None
    return None


def _segment_text(element: Element) -> str | None:
    pieces: list[str] = []
    for node in element.nodes:
        if isinstance(node, Chars):
            pieces.append(node.text)
        elif isinstance(node, Element):
            inner = _segment_text(node)
            if inner is None or (node.local in _CODES and not inner):
                return None
            pieces.append(inner)
    return "".join(pieces)


def _tbx_concepts(source: IO[bytes], languages: tuple[str, str]) -> Iterator[Record]:
    """Read TermBase eXchange (ISO 30042), both its second version and the first.

    Concepts without a term in both languages give no record, nor do deprecated or superseded terms.
    """
    line = 1
    try:
        for part in xml_units(source, _CONCEPTS, allows_doctype=True):
            if isinstance(part, str):
                line += part.count("\n")
                continue
            sources, targets = (list(dict.fromkeys(_terms(part, language))) for language in languages)
            if sources and targets:
                yield [line, sources, targets]
            line += part.raw.count("\n")
    except FileFormatError as error:
        raise FileFormatError(f"cannot be read as tbx: {error.problem}") from error


def _terms(concept: Element, language: str) -> Iterator[str]:
    for section in _within(concept, _LANGUAGE_SECTIONS):
        if not is_variant(section.language, language):
            continue
        for term_section in _within(section, _TERM_SECTIONS):
            if not _is_not_to_use(term_section):
                yield from (" ".join(_text(term).split()) for term in term_section.children("term"))


def _within(element: Element, names: frozenset[str]) -> Iterator[Element]:
    for child in element.elements:
        if child.local in names:
            yield child
            yield from _within(child, names)


def _is_not_to_use(section: Element) -> bool:
    return any(
        note.attribute("type") == "administrativeStatus" and note.text.strip().startswith(_NOT_TO_USE)
        for note in section.children("termNote")
    )


def _text(element: Element) -> str:
    return "".join(
        node.text if isinstance(node, Chars) else _text(node) if isinstance(node, Element) else ""
        for node in element.nodes
    )


_PARSERS: Mapping[RecordKind, Callable[[IO[bytes], tuple[str, str]], Iterator[Record]]] = {
    RecordKind.TMX: _tmx_pairs,
    RecordKind.TMX_LANGUAGES: _tmx_languages,
    RecordKind.TBX: _tbx_concepts,
    RecordKind.CSV: partial(_rows, RecordKind.CSV),
    RecordKind.TSV: partial(_rows, RecordKind.TSV),
}
