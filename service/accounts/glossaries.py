"""Glossaries in the database; each belongs to one caller."""

import csv
import io
import re
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, insert, select, text

from service.accounts.database import Database
from service.accounts.errors import GlossaryInvalid, TooManyGlossaries, UnknownGlossary
from service.schema.tables import GLOSSARIES

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


MAX_GLOSSARIES = 1000
"""Maximum number of glossaries per key, as with DeepL; all callers without a key share as many."""
MAX_NAME_BYTES = 1024
MAX_LANGUAGE_CHARACTERS = 64
_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_][A-Za-z0-9]+)*", re.ASCII)
_METADATA_COLUMNS = [column for column in GLOSSARIES.c if column.name not in {"entries", "key_id"}]


@dataclass(frozen=True, slots=True)
class Glossary:
    """A glossary without its entries. It never changes."""

    id: str
    """A UUID."""
    name: str
    source: str
    target: str
    entry_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewGlossary:
    """A glossary as a caller sends it."""

    name: str
    source: str
    """Language code such as de, stored unchanged."""
    target: str
    entries: str
    format: EntriesFormat = EntriesFormat.TSV

    def check(self) -> None:
        """Check all fields but the entries. Raises GlossaryInvalid."""
        try:
            size_bytes = len(self.name.encode())
        except UnicodeEncodeError:
            raise GlossaryInvalid("name", "has a lone surrogate; send well-formed Unicode") from None
        has_control = any(unicodedata.category(character) == "Cc" for character in self.name)
        if not self.name.strip() or size_bytes > MAX_NAME_BYTES or has_control:
            raise GlossaryInvalid(
                "name", f"must have 1 to {MAX_NAME_BYTES} bytes, no control characters, and not only spaces"
            )
        for field, language in (("source", self.source), ("target", self.target)):
            if len(language) > MAX_LANGUAGE_CHARACTERS or not _LANGUAGE.fullmatch(language):
                raise GlossaryInvalid(field, "is not a language code such as de or pt-BR")


@dataclass(frozen=True, slots=True)
class GlossaryStore:
    """Glossaries by owner: a key's id, or None for all callers without a key."""

    database: Database

    def add(self, owner: str | None, new: NewGlossary, now: datetime) -> Glossary:
        """Store a glossary.

        Raises:
            GlossaryInvalid: it cannot be used; the error names the field and the line.
            TooManyGlossaries: the owner has the maximum number already.
            StoreError: the database cannot be used; nothing is stored.
        """
        new.check()
        entries = parse_entries(new.entries, new.format, new.source, new.target)
        glossary = Glossary(str(uuid.uuid4()), new.name, new.source, new.target, len(entries), now)
        row = {column.name: getattr(glossary, column.name) for column in _METADATA_COLUMNS}
        with self.database.writing() as connection:
            if connection.dialect.name == "postgresql":  # else two at once could pass the limit
                connection.execute(text(f"LOCK TABLE {GLOSSARIES.name} IN SHARE ROW EXCLUSIVE MODE"))
            num_owned = select(func.count()).select_from(GLOSSARIES).where(_is_owned_by(owner))
            if connection.execute(num_owned).scalar_one() >= MAX_GLOSSARIES:
                raise TooManyGlossaries(MAX_GLOSSARIES)
            connection.execute(insert(GLOSSARIES).values(key_id=owner, entries=write_tsv(entries), **row))
        return glossary

    def list(self, owner: str | None) -> list[Glossary]:
        """Return the owner's glossaries, oldest first."""
        query = (
            select(*_METADATA_COLUMNS)
            .where(_is_owned_by(owner))
            .order_by(GLOSSARIES.c.created_at, GLOSSARIES.c.id)
        )
        with self.database.reading() as connection:
            return [_as_glossary(row) for row in connection.execute(query).all()]

    def get(self, owner: str | None, glossary_id: str) -> Glossary:
        """Return a glossary. Raises UnknownGlossary if the owner has none with this id."""
        with self.database.reading() as connection:
            row = connection.execute(select(*_METADATA_COLUMNS).where(_has_id(owner, glossary_id))).first()
        if row is None:
            raise UnknownGlossary(glossary_id)
        return _as_glossary(row)

    def tsv(self, owner: str | None, glossary_id: str) -> str:
        """Return the entries, one per line, in the order received. Raises UnknownGlossary."""
        with self.database.reading() as connection:
            row = connection.execute(select(GLOSSARIES.c.entries).where(_has_id(owner, glossary_id))).first()
        if row is None:
            raise UnknownGlossary(glossary_id)
        return str(row.entries)

    def entries(self, owner: str | None, glossary_id: str) -> dict[str, str]:
        """Return target terms by source terms. Raises UnknownGlossary."""
        return read_tsv(self.tsv(owner, glossary_id))

    def delete(self, owner: str | None, glossary_id: str) -> None:
        """Delete a glossary. Raises UnknownGlossary if the owner has none with this id."""
        with self.database.writing() as connection:
            deletion = delete(GLOSSARIES).where(_has_id(owner, glossary_id)).returning(GLOSSARIES.c.id)
            if connection.execute(deletion).first() is None:
                raise UnknownGlossary(glossary_id)


def _is_owned_by(owner: str | None) -> ColumnElement[bool]:
    return GLOSSARIES.c.key_id.is_(None) if owner is None else GLOSSARIES.c.key_id == owner


def _has_id(owner: str | None, glossary_id: str) -> ColumnElement[bool]:
    # Databases fail at NUL and lone surrogates in text; ids contain neither.
    printable = glossary_id if glossary_id.isascii() and glossary_id.isprintable() else ""
    return (GLOSSARIES.c.id == printable) & _is_owned_by(owner)


def _as_glossary(row: Row[Any]) -> Glossary:
    return Glossary(row.id, row.name, row.source, row.target, row.entry_count, row.created_at)
