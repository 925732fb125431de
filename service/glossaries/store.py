"""Glossaries in the database; each belongs to one caller."""

import unicodedata
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from dragoman.types import Pair
from service.accounts.database import Database, hold_lock
from service.glossaries.entries import DEFAULT_MAX_ENTRIES, Dictionary
from service.glossaries.errors import GlossaryInvalid, TooManyGlossaries, UnknownDictionary, UnknownGlossary
from service.glossaries.terminology import dump_terms, load_terms
from service.schema.tables import GLOSSARIES, GLOSSARY_DICTIONARIES

MAX_NAME_BYTES = 1024
GLOSSARIES_LOCK = 0x_D8A6_0AC3
"""Advisory lock in PostgreSQL that serialises changes, so that no two at once exceed a limit."""
_COLUMNS = GLOSSARY_DICTIONARIES.c

Dictionaries = dict[Pair, Dictionary]


@dataclass(frozen=True, slots=True)
class GlossaryLimits:
    """Limits of stored glossaries."""

    max_glossaries: int = 1000
    """Maximum number of glossaries per key, as with DeepL; all callers without a key share as many."""
    max_entries: int = DEFAULT_MAX_ENTRIES
    """Maximum entries of a glossary, of all its language pairs together."""
    max_bytes: int = 64 * 2**20
    """Maximum bytes of the entries of all glossaries of a key."""


@dataclass(frozen=True, slots=True)
class DictionaryInfo:
    """A dictionary without its entries."""

    pair: Pair
    entry_count: int


@dataclass(frozen=True, slots=True)
class Glossary:
    """A glossary without its entries."""

    id: str
    """A UUID."""
    name: str
    version: int
    """Increases with each change."""
    created_at: datetime
    dictionaries: tuple[DictionaryInfo, ...]


@dataclass(frozen=True, slots=True)
class GlossaryStore:
    """Glossaries by owner: a key's id, or None for all callers without a key.

    Methods raise StoreError if the database cannot be used; then nothing is changed. Methods that take a
    glossary's id raise UnknownGlossary if the owner has none with it.
    """

    database: Database
    limits: GlossaryLimits = GlossaryLimits()

    def add(
        self, owner: str | None, name: str, dictionaries: Sequence[Dictionary], now: datetime
    ) -> Glossary:
        """Store a glossary.

        Raises:
            GlossaryInvalid: its name or its size cannot be used.
            TooManyGlossaries: the owner has the maximum number already.
        """
        check_name(name)
        glossary_id = str(uuid.uuid4())
        with self.database.writing() as connection:
            hold_lock(connection, GLOSSARIES_LOCK)
            num_owned = sa.select(sa.func.count()).select_from(GLOSSARIES).where(_is_owned_by(owner))
            if connection.execute(num_owned).scalar_one() >= self.limits.max_glossaries:
                raise TooManyGlossaries(self.limits.max_glossaries)
            row = {"id": glossary_id, "key_id": owner, "name": name, "version": 1, "created_at": now}
            connection.execute(sa.insert(GLOSSARIES).values(row))
            self._write(connection, owner, glossary_id, dictionaries)
            return _read_one(connection, owner, glossary_id)

    def list(self, owner: str | None) -> list[Glossary]:
        """Return the owner's glossaries, oldest first."""
        with self.database.reading() as connection:
            return _read(connection, _is_owned_by(owner))

    def get(self, owner: str | None, glossary_id: str) -> Glossary:
        """Return a glossary."""
        with self.database.reading() as connection:
            return _read_one(connection, owner, glossary_id)

    def read_dictionaries(self, owner: str | None, glossary_id: str) -> tuple[Dictionary, ...]:
        """Return a glossary's entries."""
        with self.database.reading() as connection:
            glossary = _read_one(connection, owner, glossary_id)
            return tuple(_read_dictionaries(connection, glossary.id).values())

    def read_dictionary(self, owner: str | None, glossary_id: str, pair: Pair | None) -> Dictionary:
        """Return the entries of a pair; None means the only one. Raises UnknownDictionary."""
        dictionaries = {each.pair: each for each in self.read_dictionaries(owner, glossary_id)}
        if pair is None and len(dictionaries) == 1:
            [only] = dictionaries.values()
            return only
        return _require(dictionaries, pair)

    def replace(
        self, owner: str | None, glossary_id: str, name: str, dictionaries: Sequence[Dictionary]
    ) -> Glossary:
        """Replace a glossary's name and all its entries; errors are those of `add`."""
        return self._change(owner, glossary_id, name, lambda _: {each.pair: each for each in dictionaries})

    def merge(
        self, owner: str | None, glossary_id: str, name: str | None, dictionaries: Sequence[Dictionary]
    ) -> Glossary:
        """Change a name, unless it is None, and add entries or replace those of equal source terms."""

        def merged(stored: Dictionaries) -> Dictionaries:
            for each in dictionaries:
                terms = {} if each.pair not in stored else _by_source(stored[each.pair])
                stored[each.pair] = Dictionary(each.pair, tuple((terms | _by_source(each)).values()))
            return stored

        return self._change(owner, glossary_id, name, merged)

    def put_dictionary(self, owner: str | None, glossary_id: str, dictionary: Dictionary) -> Glossary:
        """Replace all entries of a pair, or add the pair."""
        return self._change(owner, glossary_id, None, lambda stored: {**stored, dictionary.pair: dictionary})

    def remove_dictionary(self, owner: str | None, glossary_id: str, pair: Pair) -> Glossary:
        """Remove all entries of a pair. Raises UnknownDictionary."""

        def without(stored: Dictionaries) -> Dictionaries:
            _require(stored, pair)
            return {known: each for known, each in stored.items() if known != pair}

        return self._change(owner, glossary_id, None, without)

    def delete(self, owner: str | None, glossary_id: str) -> None:
        """Delete a glossary."""
        with self.database.writing() as connection:
            glossary = _read_one(connection, owner, glossary_id)
            connection.execute(sa.delete(GLOSSARY_DICTIONARIES).where(_COLUMNS.glossary_id == glossary.id))
            connection.execute(sa.delete(GLOSSARIES).where(GLOSSARIES.c.id == glossary.id))

    def _change(
        self,
        owner: str | None,
        glossary_id: str,
        name: str | None,
        edit: Callable[[Dictionaries], Dictionaries],
    ) -> Glossary:
        if name is not None:
            check_name(name)
        with self.database.writing() as connection:
            hold_lock(connection, GLOSSARIES_LOCK)
            glossary = _read_one(connection, owner, glossary_id)
            values: dict[str, Any] = {"version": glossary.version + 1, "name": name or glossary.name}
            connection.execute(sa.update(GLOSSARIES).where(GLOSSARIES.c.id == glossary.id).values(values))
            dictionaries = edit(_read_dictionaries(connection, glossary.id))
            connection.execute(sa.delete(GLOSSARY_DICTIONARIES).where(_COLUMNS.glossary_id == glossary.id))
            self._write(connection, owner, glossary.id, list(dictionaries.values()))
            return _read_one(connection, owner, glossary.id)

    def _write(
        self,
        connection: sa.Connection,
        owner: str | None,
        glossary_id: str,
        dictionaries: Sequence[Dictionary],
    ) -> None:
        """Write the entries of a glossary that has none, and check the limits."""
        num_entries = sum(len(each.terms) for each in dictionaries)
        if num_entries > self.limits.max_entries:
            problem = f"{num_entries} entries exceed the limit of {self.limits.max_entries}; split them"
            raise GlossaryInvalid("entries", f"{problem} into several glossaries")
        for position, each in enumerate(dictionaries):
            terms = dump_terms(each.terms)
            row = {
                "glossary_id": glossary_id,
                "source": each.pair.source,
                "target": each.pair.target,
                "position": position,
                "entries": terms,
                "entry_count": len(each.terms),
                "size_bytes": len(terms.encode()),
            }
            connection.execute(sa.insert(GLOSSARY_DICTIONARIES).values(row))
        owned = sa.select(GLOSSARIES.c.id).where(_is_owned_by(owner))
        stored = sa.select(sa.func.sum(_COLUMNS.size_bytes)).where(_COLUMNS.glossary_id.in_(owned))
        if int(connection.execute(stored).scalar_one() or 0) > self.limits.max_bytes:
            problem = f"all glossaries of the key would exceed the limit of {self.limits.max_bytes} bytes"
            raise GlossaryInvalid("entries", f"{problem}; delete some first")


def check_name(name: str) -> None:
    """Check a glossary's name. Raises GlossaryInvalid."""
    try:
        size_bytes = len(name.encode())
    except UnicodeEncodeError:
        raise GlossaryInvalid("name", "has a lone surrogate; send well-formed Unicode") from None
    has_control = any(unicodedata.category(character) == "Cc" for character in name)
    if not name.strip() or size_bytes > MAX_NAME_BYTES or has_control:
        problem = f"must have 1 to {MAX_NAME_BYTES} bytes, no control characters, and not only spaces"
        raise GlossaryInvalid("name", problem)


def _by_source(dictionary: Dictionary) -> dict[str, Any]:
    return {term.source: term for term in dictionary.terms}


def _require(dictionaries: Dictionaries, pair: Pair | None) -> Dictionary:
    if pair is None or pair not in dictionaries:
        known = ", ".join(map(str, dictionaries)) or "none"
        raise UnknownDictionary(str(pair or "an unnamed pair"), known)
    return dictionaries[pair]


def _read(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[Glossary]:
    wanted = sa.select(GLOSSARIES).where(*conditions).order_by(GLOSSARIES.c.created_at, GLOSSARIES.c.id)
    rows = connection.execute(wanted).all()
    infos = (
        sa.select(_COLUMNS.glossary_id, _COLUMNS.source, _COLUMNS.target, _COLUMNS.entry_count)
        .join(GLOSSARIES, GLOSSARIES.c.id == _COLUMNS.glossary_id)
        .where(*conditions)
        .order_by(_COLUMNS.position)
    )
    found: dict[str, list[DictionaryInfo]] = {row.id: [] for row in rows}
    for glossary_id, source, target, entry_count in connection.execute(infos):
        found[glossary_id].append(DictionaryInfo(Pair(source, target), entry_count))
    return [Glossary(row.id, row.name, row.version, row.created_at, tuple(found[row.id])) for row in rows]


def _read_one(connection: sa.Connection, owner: str | None, glossary_id: str) -> Glossary:
    # Databases fail at NUL and lone surrogates in text; ids contain neither.
    printable = glossary_id if glossary_id.isascii() and glossary_id.isprintable() else ""
    found: Iterable[Glossary] = _read(connection, GLOSSARIES.c.id == printable, _is_owned_by(owner))
    for glossary in found:
        return glossary
    raise UnknownGlossary(glossary_id)


def _read_dictionaries(connection: sa.Connection, glossary_id: str) -> Dictionaries:
    wanted = (
        sa.select(_COLUMNS.source, _COLUMNS.target, _COLUMNS.entries)
        .where(_COLUMNS.glossary_id == glossary_id)
        .order_by(_COLUMNS.position)
    )
    return {
        Pair(source, target): Dictionary(Pair(source, target), load_terms(entries))
        for source, target, entries in connection.execute(wanted)
    }


def _is_owned_by(owner: str | None) -> sa.ColumnElement[bool]:
    return GLOSSARIES.c.key_id.is_(None) if owner is None else GLOSSARIES.c.key_id == owner
