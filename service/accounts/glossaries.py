"""Glossaries in the database; each belongs to one caller."""

import re
import unicodedata
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, insert, select, text

from service.accounts.database import Database
from service.accounts.errors import GlossaryInvalid, TooManyGlossaries, UnknownGlossary
from service.accounts.glossary_entries import EntriesFormat, parse_entries, read_tsv, write_tsv
from service.accounts.tables import GLOSSARIES

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
