"""Glossaries in the database; each belongs to one caller."""

import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from dragoman.types import Pair
from service.accounts.database import Database, hold_lock
from service.accounts.totals import Resource, change_total, is_own, is_owned_by
from service.glossaries.entries import DEFAULT_MAX_ENTRIES, Dictionary
from service.glossaries.errors import GlossaryInvalid, TooManyGlossaries, UnknownDictionary, UnknownGlossary
from service.glossaries.terminology import dump_terms, load_terms
from service.schema.tables import GLOSSARIES, GLOSSARY_DICTIONARIES

MAX_NAME_BYTES = 1024
MAX_DICTIONARIES = 200
"""Maximum language pairs of a glossary: each is a row, and other writers wait while these are written."""
GLOSSARIES_LOCK = 0x_D8A6_0AC3
"""Advisory lock in PostgreSQL that serialises changes, so that no two at once exceed a limit."""
_COLUMNS = GLOSSARY_DICTIONARIES.c

Dictionaries = dict[Pair, Dictionary]
Edit = Callable[[Dictionaries], Dictionaries]
_Row = dict[str, Any]


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
        rows = self._rows(glossary_id, dictionaries)
        with self.database.writing() as connection:
            hold_lock(connection, GLOSSARIES_LOCK)
            self._grow(connection, owner, 1, rows)
            row = {"id": glossary_id, "key_id": owner, "name": name, "version": 1, "created_at": now}
            connection.execute(sa.insert(GLOSSARIES).values(row))
            _write(connection, rows)
            return _read_one(connection, owner, glossary_id)

    def list(self, owner: str | None) -> list[Glossary]:
        """Return the owner's glossaries, oldest first."""
        with self.database.reading() as connection:
            return _read(connection, is_owned_by(GLOSSARIES, owner))

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
            hold_lock(connection, GLOSSARIES_LOCK)
            glossary = _read_one(connection, owner, glossary_id)
            size_bytes = _delete_dictionaries(connection, glossary.id)
            connection.execute(sa.delete(GLOSSARIES).where(GLOSSARIES.c.id == glossary.id))
            change_total(connection, Resource.GLOSSARIES, owner, -1, -size_bytes)

    def _change(self, owner: str | None, glossary_id: str, name: str | None, edit: Edit) -> Glossary:
        if name is not None:
            check_name(name)
        while (changed := self._try_change(owner, glossary_id, name, edit)) is None:
            pass
        return changed

    def _try_change(
        self, owner: str | None, glossary_id: str, name: str | None, edit: Edit
    ) -> Glossary | None:
        """Change a glossary; return None if another program has changed it in the meantime.

        Entries are read, edited and encoded before the transaction that keeps other writers waiting.
        """
        with self.database.reading() as connection:
            glossary = _read_one(connection, owner, glossary_id)
            stored = _read_dictionaries(connection, glossary.id)
        rows = self._rows(glossary.id, [*edit(stored).values()])
        values: dict[str, Any] = {"version": glossary.version + 1, "name": name or glossary.name}
        is_unchanged = (GLOSSARIES.c.id == glossary.id) & (GLOSSARIES.c.version == glossary.version)
        with self.database.writing() as connection:
            hold_lock(connection, GLOSSARIES_LOCK)
            if not connection.execute(sa.update(GLOSSARIES).where(is_unchanged).values(values)).rowcount:
                return None
            self._grow(connection, owner, 0, rows, _delete_dictionaries(connection, glossary.id))
            _write(connection, rows)
            return _read_one(connection, owner, glossary.id)

    def _rows(self, glossary_id: str, dictionaries: Sequence[Dictionary]) -> Sequence[_Row]:
        """Return the rows of a glossary's entries, and check its limits."""
        num_entries = sum(len(each.terms) for each in dictionaries)
        for number, limit, things in (
            (num_entries, self.limits.max_entries, "entries"),
            (len(dictionaries), MAX_DICTIONARIES, "language pairs"),
        ):
            if number > limit:
                problem = f"{number} {things} exceed the limit of {limit}; split them into several glossaries"
                raise GlossaryInvalid("entries", problem)
        return [_row(glossary_id, position, each) for position, each in enumerate(dictionaries)]

    def _grow(
        self,
        connection: sa.Connection,
        owner: str | None,
        num_new: int,
        rows: Sequence[_Row],
        replaced_bytes: int = 0,
    ) -> None:
        """Count new glossaries and entries, and check the limits of all glossaries together."""
        size_bytes = sum(row["size_bytes"] for row in rows) - replaced_bytes
        total = change_total(connection, Resource.GLOSSARIES, owner, num_new, size_bytes)
        if num_new and total.num_items > self.limits.max_glossaries:
            raise TooManyGlossaries(self.limits.max_glossaries)
        if total.size_bytes > self.limits.max_bytes:
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


def _row(glossary_id: str, position: int, dictionary: Dictionary) -> _Row:
    terms = dump_terms(dictionary.terms)
    return {
        "glossary_id": glossary_id,
        "source": dictionary.pair.source,
        "target": dictionary.pair.target,
        "position": position,
        "entries": terms,
        "entry_count": len(dictionary.terms),
        "size_bytes": len(terms.encode()),
    }


def _write(connection: sa.Connection, rows: Sequence[_Row]) -> None:
    for row in rows:
        connection.execute(sa.insert(GLOSSARY_DICTIONARIES).values(row))


def _delete_dictionaries(connection: sa.Connection, glossary_id: str) -> int:
    """Delete a glossary's entries, and return their bytes."""
    deletion = sa.delete(GLOSSARY_DICTIONARIES).where(_COLUMNS.glossary_id == glossary_id)
    return sum(connection.execute(deletion.returning(_COLUMNS.size_bytes)).scalars())


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
    for glossary in _read(connection, is_own(GLOSSARIES, owner, glossary_id)):
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
