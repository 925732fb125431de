"""Translation memories in the database; each belongs to one caller and has one language pair."""

import re
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from dragoman.types import Pair
from service.accounts.database import Database, hold_lock, insert_rows
from service.formats.language_tags import matches_language
from service.memories.errors import MemoryInvalid, TooManyMemories, UnknownMemory, UnknownPair
from service.memories.pairs import DIGEST_SIZE_BYTES, SegmentPair, checked_pairs, source_digest
from service.schema.tables import MEMORIES, MEMORY_PAIRS

SUGGESTIONS = "suggestions"
"""Name of the memory of each language pair that has a caller's suggestions."""
MAX_NAME_BYTES = 1024
MAX_LANGUAGE_CHARACTERS = 64
_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_][A-Za-z0-9]+)*", re.ASCII)
_MEMORIES_LOCK = 0x_D8A6_0AC4
"""Advisory lock in PostgreSQL that serialises changes, so that no two at once exceed a limit."""
_ROWS = 500
"""Number of rows in one statement."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Limits of stored memories."""

    max_memories: int = 100
    """Maximum number of memories per key; all callers without a key share as many."""
    max_pairs: int = 100_000
    """Maximum pairs of a memory."""
    max_bytes: int = 256 * 2**20
    """Maximum bytes of the texts of all memories of a key."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory without its pairs."""

    id: str
    """A UUID."""
    name: str
    pair: Pair
    num_pairs: int
    size_bytes: int
    """Size of all texts in UTF-8."""
    version: int
    """Increases with each change."""
    created_at: datetime

    def check_pair(self, source: str | None, target: str | None) -> None:
        """Check that texts in a language, to be translated into another, fit; None fits.

        Raises:
            MemoryInvalid: a language is not that of the memory, or a regional variant of it.
        """
        for field, wanted, own in (
            ("source", source, self.pair.source),
            ("target", target, self.pair.target),
        ):
            if wanted is not None and not (matches_language(wanted, own) or matches_language(own, wanted)):
                raise MemoryInvalid(
                    field, f"is {wanted[:80]}, but the memory is for {self.pair}; use another one"
                )


@dataclass(frozen=True, slots=True)
class StoredPair:
    """A pair with its id."""

    id: str
    """Hexadecimal digits of the source's digest."""
    pair: SegmentPair


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """Memories by owner: a key's id, or None for all callers without a key.

    Methods raise StoreError if the database cannot be used; then nothing is changed. Methods that take a
    memory's id raise UnknownMemory if the owner has none with it.
    """

    database: Database
    limits: MemoryLimits = MemoryLimits()

    def add(
        self, owner: str | None, name: str, pair: Pair, pairs: Iterable[SegmentPair], now: datetime
    ) -> Memory:
        """Store a memory. Of pairs with equal sources, the last one counts.

        Raises:
            MemoryInvalid: its name, its languages or a pair cannot be used, or a limit is exceeded.
            TooManyMemories: the owner has the maximum number already.
        """
        check_name(name)
        check_languages(pair)
        rows = self._rows(pairs)
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            memory_id = self._create(connection, owner, name, pair, now)
            return self._write(connection, owner, memory_id, rows)

    def add_pairs(self, owner: str | None, memory_id: str, pairs: Iterable[SegmentPair]) -> Memory:
        """Add pairs; they replace those with equal sources. Raises MemoryInvalid."""
        rows = self._rows(pairs)
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            return self._write(connection, owner, _read_one(connection, owner, memory_id).id, rows)

    def suggest(self, owner: str | None, pair: Pair, suggested: SegmentPair, now: datetime) -> Memory:
        """Add a pair to the owner's memory of suggestions for two languages, which is created if missing.

        Raises:
            MemoryInvalid: a text or a language cannot be used, or a limit is exceeded.
            TooManyMemories: there is no such memory, and the owner has the maximum number already.
        """
        check_languages(pair)
        rows = self._rows([suggested])
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            is_wanted = (
                (MEMORIES.c.name == SUGGESTIONS)
                & (MEMORIES.c.source == pair.source)
                & (MEMORIES.c.target == pair.target)
            )
            known = _read(connection, _is_owned_by(owner), is_wanted)
            memory_id = known[0].id if known else self._create(connection, owner, SUGGESTIONS, pair, now)
            return self._write(connection, owner, memory_id, rows)

    def list(self, owner: str | None) -> list[Memory]:
        """Return the owner's memories, oldest first."""
        with self.database.reading() as connection:
            return _read(connection, _is_owned_by(owner))

    def get(self, owner: str | None, memory_id: str) -> Memory:
        """Return a memory."""
        with self.database.reading() as connection:
            return _read_one(connection, owner, memory_id)

    def page(
        self, owner: str | None, memory_id: str, limit: int, after: str | None = None
    ) -> Sequence[StoredPair]:
        """Return up to `limit` pairs, in the order of their ids, beginning after an id."""
        with self.database.reading() as connection:
            memory = _read_one(connection, owner, memory_id)
            wanted = sa.select(MEMORY_PAIRS).where(MEMORY_PAIRS.c.memory_id == memory.id)
            if after is not None:
                wanted = wanted.where(MEMORY_PAIRS.c.digest > _digest(after))
            rows = connection.execute(wanted.order_by(MEMORY_PAIRS.c.digest).limit(limit))
            return [StoredPair(row.digest.hex(), SegmentPair(row.source, row.target)) for row in rows]

    def read_pairs(self, memory_id: str) -> Iterator[SegmentPair]:
        """Yield all pairs of a memory, whoever owns it."""
        wanted = sa.select(MEMORY_PAIRS.c.source, MEMORY_PAIRS.c.target)
        with self.database.reading() as connection:
            streamed = connection.execution_options(yield_per=_ROWS)
            for source, target in streamed.execute(wanted.where(MEMORY_PAIRS.c.memory_id == memory_id)):
                yield SegmentPair(source, target)

    def find_equal(self, memory_id: str, texts: Iterable[str]) -> dict[bytes, SegmentPair]:
        """Return the pairs whose sources equal one of the texts, by their digest, whoever owns the memory."""
        found: dict[bytes, SegmentPair] = {}
        with self.database.reading() as connection:
            remaining = iter(dict.fromkeys(map(source_digest, texts)))
            while digests := list(islice(remaining, _ROWS)):
                wanted = sa.select(MEMORY_PAIRS).where(
                    MEMORY_PAIRS.c.memory_id == memory_id, MEMORY_PAIRS.c.digest.in_(digests)
                )
                for row in connection.execute(wanted):
                    found[row.digest] = SegmentPair(row.source, row.target)
        return found

    def delete(self, owner: str | None, memory_id: str) -> None:
        """Delete a memory with its pairs."""
        with self.database.writing() as connection:
            memory = _read_one(connection, owner, memory_id)
            connection.execute(sa.delete(MEMORY_PAIRS).where(MEMORY_PAIRS.c.memory_id == memory.id))
            connection.execute(sa.delete(MEMORIES).where(MEMORIES.c.id == memory.id))

    def delete_pair(self, owner: str | None, memory_id: str, pair_id: str) -> Memory:
        """Delete one pair. Raises UnknownPair."""
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            memory = _read_one(connection, owner, memory_id)
            deletion = sa.delete(MEMORY_PAIRS).where(
                MEMORY_PAIRS.c.memory_id == memory.id, MEMORY_PAIRS.c.digest == _digest(pair_id)
            )
            if not connection.execute(deletion).rowcount:
                raise UnknownPair(pair_id)
            return _count(connection, owner, memory.id)

    def _create(
        self, connection: sa.Connection, owner: str | None, name: str, pair: Pair, now: datetime
    ) -> str:
        num_owned = sa.select(sa.func.count()).select_from(MEMORIES).where(_is_owned_by(owner))
        if connection.execute(num_owned).scalar_one() >= self.limits.max_memories:
            raise TooManyMemories(self.limits.max_memories)
        row = {
            "id": str(uuid.uuid4()),
            "key_id": owner,
            "name": name,
            "source": pair.source,
            "target": pair.target,
            "created_at": now,
        }
        connection.execute(sa.insert(MEMORIES).values(row))
        return str(row["id"])

    def _rows(self, pairs: Iterable[SegmentPair]) -> Sequence[dict[str, object]]:
        """Return the rows of checked pairs, before a transaction, which would keep others waiting."""
        rows = [_row(pair) for pair in checked_pairs(pairs, "pairs", self.limits.max_pairs)]
        return sorted(rows, key=itemgetter("digest"))  # a database adds them faster in this order

    def _write(
        self, connection: sa.Connection, owner: str | None, memory_id: str, rows: Sequence[dict[str, object]]
    ) -> Memory:
        """Write rows and check the limits."""
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        new = dialect.insert(MEMORY_PAIRS)
        changed = {name: new.excluded[name] for name in ("source", "target", "size_bytes")}
        upsert = new.on_conflict_do_update(index_elements=["memory_id", "digest"], set_=changed)
        insert_rows(connection, upsert, [{"memory_id": memory_id, **row} for row in rows])
        memory = _count(connection, owner, memory_id)
        if memory.num_pairs > self.limits.max_pairs:
            problem = f"the memory would have {memory.num_pairs} pairs; the limit is {self.limits.max_pairs}"
            raise MemoryInvalid("pairs", f"{problem}; split them into several memories")
        stored = sa.select(sa.func.sum(MEMORIES.c.size_bytes)).where(_is_owned_by(owner))
        if int(connection.execute(stored).scalar_one() or 0) > self.limits.max_bytes:
            problem = f"all memories of the key would exceed the limit of {self.limits.max_bytes} bytes"
            raise MemoryInvalid("pairs", f"{problem}; delete some first")
        return memory


def check_name(name: str) -> None:
    """Check a memory's name. Raises MemoryInvalid."""
    size_bytes = len(name.encode("utf-8", "surrogatepass"))
    has_control = any(unicodedata.category(character) in {"Cc", "Cs"} for character in name)
    if not name.strip() or size_bytes > MAX_NAME_BYTES or has_control:
        problem = f"must have 1 to {MAX_NAME_BYTES} bytes, no control characters, and not only spaces"
        raise MemoryInvalid("name", problem)


def check_languages(pair: Pair) -> None:
    """Check the codes of two languages. Raises MemoryInvalid."""
    for field, code in (("source", pair.source), ("target", pair.target)):
        if len(code) > MAX_LANGUAGE_CHARACTERS or not _LANGUAGE.fullmatch(code):
            raise MemoryInvalid(field, "is not a language code such as de or pt-BR")


def _row(pair: SegmentPair) -> dict[str, object]:
    return {
        "digest": source_digest(pair.source),
        "source": pair.source,
        "target": pair.target,
        "size_bytes": len(pair.source.encode()) + len(pair.target.encode()),
    }


def _count(connection: sa.Connection, owner: str | None, memory_id: str) -> Memory:
    """Update the counts and the version of a memory."""
    counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(MEMORY_PAIRS.c.size_bytes), 0)).where(
        MEMORY_PAIRS.c.memory_id == memory_id
    )
    num_pairs, size_bytes = connection.execute(counted).one()
    counts = {"num_pairs": num_pairs, "size_bytes": int(size_bytes), "version": MEMORIES.c.version + 1}
    connection.execute(sa.update(MEMORIES).where(MEMORIES.c.id == memory_id).values(counts))
    return _read_one(connection, owner, memory_id)


def _read(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[Memory]:
    wanted = sa.select(MEMORIES).where(*conditions).order_by(MEMORIES.c.created_at, MEMORIES.c.id)
    return [_memory(row) for row in connection.execute(wanted)]


def _read_one(connection: sa.Connection, owner: str | None, memory_id: str) -> Memory:
    # Databases fail at NUL and lone surrogates in text; ids contain neither.
    printable = memory_id if memory_id.isascii() and memory_id.isprintable() else ""
    for memory in _read(connection, MEMORIES.c.id == printable, _is_owned_by(owner)):
        return memory
    raise UnknownMemory(memory_id)


def _memory(row: sa.Row[Any]) -> Memory:
    pair = Pair(row.source, row.target)
    return Memory(row.id, row.name, pair, row.num_pairs, row.size_bytes, row.version, row.created_at)


def _digest(pair_id: str) -> bytes:
    """Return the digest that an id stands for. Raises UnknownPair."""
    if len(pair_id) != 2 * DIGEST_SIZE_BYTES or set(pair_id) - set("0123456789abcdef"):
        raise UnknownPair(pair_id)
    return bytes.fromhex(pair_id)


def _is_owned_by(owner: str | None) -> sa.ColumnElement[bool]:
    return MEMORIES.c.key_id.is_(None) if owner is None else MEMORIES.c.key_id == owner
