"""Glossary entries: parsed from TSV or CSV, checked, and written as TSV.

Limits and formats are those of DeepL's glossaries
(https://developers.deepl.com/docs/api-reference/glossaries): at most 10 MiB of entries and 1024 bytes per
term; no empty term, control character, surrounding white space or repeated source term. Empty lines are
ignored, as DeepL's client libraries do.
"""

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from enum import StrEnum

from service.accounts.errors import GlossaryInvalid

MAX_ENTRIES_BYTES = 10 * 2**20
MAX_TERM_BYTES = 1024
_PAIR, _PAIR_AND_LANGUAGES = 2, 4
_BYTE_ORDER_MARK = "\ufeff"
_FORBIDDEN_IN_TERMS = frozenset(("\u2028", "\u2029", _BYTE_ORDER_MARK))
"""Further forbidden characters: line separators, and a byte order mark, which is lost if it starts a file."""


class EntriesFormat(StrEnum):
    """The formats of entries."""

    TSV = "tsv"
    """Source term, tab, target term; quotation marks have no special meaning."""
    CSV = "csv"
    """Source term, comma, target term, optionally both languages; double quotation marks quote a field."""


def parse_entries(text: str, entries_format: EntriesFormat, source: str, target: str) -> dict[str, str]:
    """Return target terms by source terms, in the order of `text`.

    Args:
        text: one entry per line; a byte order mark may come first.
        entries_format: the format of the lines.
        source: the glossary's source language; a line of CSV that names languages must agree with both.
        target: the glossary's target language.

    Raises:
        GlossaryInvalid: an entry cannot be used; the error names the line and the limit and quotes no entry.
    """
    if len(text) > MAX_ENTRIES_BYTES or _size_bytes(text, "entries") > MAX_ENTRIES_BYTES:
        raise GlossaryInvalid(
            "entries", f"more than {MAX_ENTRIES_BYTES} bytes; split them into several glossaries"
        )
    entries: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, fields in _read_rows(text.removeprefix(_BYTE_ORDER_MARK), entries_format):
        if entries_format is EntriesFormat.CSV and len(fields) == _PAIR_AND_LANGUAGES:
            _check_languages(line, fields[2:], (source, target))
            del fields[2:]
        if len(fields) != _PAIR:
            allowed = "2" if entries_format is EntriesFormat.TSV else "2, or 4 with the languages"
            raise GlossaryInvalid(
                "entries", f"line {line} has {len(fields)} fields, but {entries_format} needs {allowed}"
            )
        for side, term in zip(("source", "target"), fields, strict=True):
            check_term(term, f"line {line}: the {side} term")
        if (first := lines.setdefault(fields[0], line)) != line:
            raise GlossaryInvalid(
                "entries", f"line {line} repeats the source term of line {first}; keep one of them"
            )
        entries[fields[0]] = fields[1]
    if not entries:
        raise GlossaryInvalid("entries", "is empty; send at least one")
    return entries


def write_tsv(entries: Mapping[str, str]) -> str:
    """Return the entries as TSV. No term has a tab or a line end, so nothing needs quoting."""
    return "".join(f"{source}\t{target}\n" for source, target in entries.items())


def read_tsv(text: str) -> dict[str, str]:
    """Read the entries that `write_tsv` wrote."""
    pairs = [line.split("\t") for line in text.split("\n")[:-1]]
    return {source: target for source, target in pairs}  # noqa: C416 -- unlike dict(), shows that there are two


def check_term(term: str, where: str) -> None:
    """Check a term. Raises GlossaryInvalid."""
    if not term.strip():
        raise GlossaryInvalid("entries", f"{where} is empty")
    if term != term.strip():
        raise GlossaryInvalid("entries", f"{where} begins or ends with white space; remove it")
    if any(unicodedata.category(character) == "Cc" or character in _FORBIDDEN_IN_TERMS for character in term):
        raise GlossaryInvalid("entries", f"{where} has a control character; remove it")
    if (size := _size_bytes(term, "entries")) > MAX_TERM_BYTES:
        raise GlossaryInvalid("entries", f"{where} has {size} bytes; the limit is {MAX_TERM_BYTES}")


def _read_rows(text: str, entries_format: EntriesFormat) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line that has any, with the line's number from 1."""
    lines = io.StringIO(text, newline="")
    if entries_format is EntriesFormat.TSV:
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, strict=True)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise GlossaryInvalid(
            "entries", f"line {start} cannot be read as {entries_format}: {error}"
        ) from error


def _check_languages(line: int, sent: list[str], own: tuple[str, str]) -> None:
    if [language.strip().casefold() for language in sent] != [language.casefold() for language in own]:
        raise GlossaryInvalid("entries", f"line {line} must name the glossary's languages {own[0]}, {own[1]}")


def _size_bytes(text: str, field: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise GlossaryInvalid(
            field, f"lone surrogate at character {error.start}; send well-formed Unicode"
        ) from None
