"""Entries of a glossary: their rules, and reading and writing them as CSV or TSV."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman.terms import MAX_FORMS, MAX_PHRASE_CHARACTERS, Term
from dragoman.types import Pair
from service.formats.entries import FileFormatError
from service.formats.records import Record, RecordKind, parse_rows
from service.glossaries.errors import GlossaryInvalid

MAX_ENTRIES_BYTES = 10 * 2**20
"""Maximum bytes of the entries of one language pair, as with DeepL."""
DEFAULT_MAX_ENTRIES = 10_000
_PAIR, _PAIR_AND_LANGUAGES = 2, 4
_FORBIDDEN_IN_TERMS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""Control characters, line separators, and a byte order mark, which is lost if it starts a file."""
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class EntriesFormat(StrEnum):
    """The text formats of entries."""

    TSV = "tsv"
    """Source term, tab, target term; quotation marks have no special meaning."""
    CSV = "csv"
    """Source term, comma, target term, optionally both languages; double quotation marks quote a field."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The entries of a glossary for one language pair."""

    pair: Pair
    terms: tuple[Term, ...]


@dataclass(slots=True)
class EntryCollector:
    """Collects checked entries in order.

    Raises:
        GlossaryInvalid: an entry cannot be used, repeats another, or is one too many.
    """

    name: str = "entries"
    """Name of the field, for errors."""
    max_entries: int = DEFAULT_MAX_ENTRIES
    advice: str = "split it into several glossaries"
    """Remedy if there are too many entries."""
    _terms: dict[str, Term] = field(default_factory=dict)
    _locations: dict[str, str] = field(default_factory=dict)

    def add(self, source: str, targets: Sequence[str], location: str) -> None:
        """Add an entry; `location` says where it is, such as `line 3`."""
        if len(self._terms) >= self.max_entries:
            raise self.error(f"has more than {self.max_entries} entries; {self.advice}")
        self._check(source, f"{location}: the source term")
        if len(targets) > MAX_FORMS:
            raise self.error(f"{location} has {len(targets)} target terms; the limit is {MAX_FORMS}")
        for target in targets:
            self._check(target, f"{location}: the target term")
        if (first := self._locations.setdefault(source, location)) != location:
            raise self.error(f"{location} repeats the source term of {first}; keep one of them")
        self._terms[source] = Term(source, tuple(dict.fromkeys(targets)))

    def collected(self) -> tuple[Term, ...]:
        """Return all entries; there must be one at least."""
        if not self._terms:
            raise self.error("is empty; send at least one")
        return tuple(self._terms.values())

    def error(self, problem: str) -> GlossaryInvalid:
        """Return an error about the entries."""
        return GlossaryInvalid(self.name, problem)

    def _check(self, phrase: str, what: str) -> None:
        if not phrase.strip():
            raise self.error(f"{what} is empty")
        if phrase != phrase.strip():
            raise self.error(f"{what} begins or ends with white space; remove it")
        if _FORBIDDEN_IN_TERMS.search(phrase):
            raise self.error(f"{what} has a control character; remove it")
        if _LONE_SURROGATE.search(phrase):
            raise self.error(f"{what} has a lone surrogate; send well-formed Unicode")
        if len(phrase) > MAX_PHRASE_CHARACTERS:
            raise self.error(f"{what} has {len(phrase)} characters; the limit is {MAX_PHRASE_CHARACTERS}")


def parse_entries(
    text: str, entries_format: EntriesFormat, pair: Pair | None, collector: EntryCollector | None = None
) -> tuple[Term, ...]:
    """Return the entries in a text, in order.

    Args:
        text: one entry per line; a byte order mark may come first.
        entries_format: the format of the lines.
        pair: the glossary's languages; a line of CSV that names languages must agree. None ignores them.
        collector: limits and the field's name.

    Raises:
        GlossaryInvalid: an entry cannot be used; the error names the line and the limit and quotes no entry.
    """
    collector = collector or EntryCollector()
    if len(text) > MAX_ENTRIES_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_ENTRIES_BYTES:
        raise collector.error(f"more than {MAX_ENTRIES_BYTES} bytes; split them into several glossaries")
    try:
        return collect_rows(parse_rows(text, RecordKind(entries_format)), entries_format, pair, collector)
    except FileFormatError as error:
        raise collector.error(error.problem) from error


def collect_rows(
    rows: Iterable[Record], entries_format: EntriesFormat, pair: Pair | None, collector: EntryCollector
) -> tuple[Term, ...]:
    """Return the entries in rows, each a line number and fields. Raises GlossaryInvalid."""
    for line, fields in rows:
        if entries_format is EntriesFormat.CSV and len(fields) == _PAIR_AND_LANGUAGES:
            _check_languages(line, fields[2:], pair, collector)
            del fields[2:]
        if len(fields) != _PAIR:
            allowed = "2" if entries_format is EntriesFormat.TSV else "2, or 4 with the languages"
            raise collector.error(
                f"line {line} has {len(fields)} fields, but {entries_format} needs {allowed}"
            )
        collector.add(fields[0], fields[1:], f"line {line}")
    return collector.collected()


def write_entries(terms: Iterable[Term], entries_format: EntriesFormat) -> str:
    """Return entries as text. Of several target terms, the first is written; a term to keep is its own."""
    rows = [(term.source, term.targets[0] if term.targets else term.source) for term in terms]
    if entries_format is EntriesFormat.TSV:  # no term has a tab or a line end, so nothing needs quoting
        return "".join(f"{source}\t{target}\n" for source, target in rows)
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _check_languages(line: int, sent: list[str], pair: Pair | None, collector: EntryCollector) -> None:
    if pair is not None and [code.strip().casefold() for code in sent] != [code.casefold() for code in pair]:
        raise collector.error(f"line {line} must name the glossary's languages {pair.source}, {pair.target}")
