"""Translation memories in the database; each belongs to one caller and has one language pair."""

import re
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from dragoman.pipeline.pacing import Pacer
from dragoman.types import Pair
from service.accounts.database import MAX_ROWS, MAX_WRITTEN_BYTES, Database, hold_lock, insert_rows
from service.accounts.errors import StoreError
from service.accounts.totals import Resource, change_total, is_own, is_owned_by, read_total
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
IMPORT_S = 60.0
"""Seconds without progress after which an import has ended, and its memory is removed."""
_Row = dict[str, Any]


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
    updated_at: datetime
    """When its pairs were last changed."""
    num_skipped: int = 0
    """Units without a pair in the file from which a job imported it."""

    def check_pair(self, source: str | None, target: str | None) -> None:
        """Check that texts in a language, to be translated into another, fit; None fits.

        Raises:
            MemoryInvalid: a language is not that of the memory, or a regional variant of it.
        """
        for field, wanted, language in (
            ("source", source, self.pair.source),
            ("target", target, self.pair.target),
        ):
            if wanted is not None and not (
                matches_language(wanted, language) or matches_language(language, wanted)
            ):
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
        self,
        owner: str | None,
        name: str,
        pair: Pair,
        pairs: Iterable[SegmentPair],
        *,
        memory_id: str | None = None,
    ) -> Memory:
        """Store a memory, with a new id or the given one. Of pairs with equal sources, the last one counts.

        Raises:
            MemoryInvalid: its name, its languages or a pair cannot be used, or a limit is exceeded.
            TooManyMemories: the owner has the maximum number already.
        """
        check_name(name)
        check_languages(pair)
        first, *others = _parts(self._rows(pairs))
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            memory = self._create(connection, owner, _new_memory(name, pair, memory_id))
            self._write(connection, owner, memory.id, first)
            if not others:
                return self._complete(connection, owner, memory.id)
        try:
            return self._import(owner, memory.id, others)
        except BaseException:
            with suppress(StoreError):  # else its leftovers are removed later
                self._remove(memory.id)
            raise

    def note_skipped(self, memory: Memory, num_skipped: int) -> None:
        """Store how many units of its file the import of a memory skipped."""
        noted = sa.update(MEMORIES).where(MEMORIES.c.id == memory.id)
        with self.database.writing() as connection:
            connection.execute(noted.values(num_skipped=num_skipped))

    def add_pairs(self, owner: str | None, memory_id: str, pairs: Iterable[SegmentPair]) -> Memory:
        """Add pairs; they replace those with equal sources. Raises MemoryInvalid.

        If the database fails after the first `MAX_ROWS` pairs, those that were written stay.
        """
        first, *others = _parts(self._rows(pairs))
        if others:
            self._check_fit(owner, memory_id, [first, *others])
        pacer = Pacer()
        memory = self._add_part(owner, memory_id, first)
        for part in others:
            pacer.rest()
            memory = self._add_part(owner, memory_id, part)
        return memory

    def suggest(self, owner: str | None, pair: Pair, suggested: SegmentPair) -> Memory:
        """Add a pair to the owner's memory of suggestions for two languages, which is created if missing.

        Raises:
            MemoryInvalid: a text or a language cannot be used, or a limit is exceeded.
            TooManyMemories: there is no such memory, and the owner has the maximum number already.
        """
        check_languages(pair)
        rows = self._rows([suggested])
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            is_of_pair = (MEMORIES.c.source == pair.source) & (MEMORIES.c.target == pair.target)
            is_wanted = (MEMORIES.c.name == SUGGESTIONS) & is_of_pair
            known = _read(connection, is_owned_by(MEMORIES, owner), is_wanted)
            new = _new_memory(SUGGESTIONS, pair)
            memory = known[0] if known else self._create(connection, owner, new)
            changed = self._write(connection, owner, memory.id, rows)
            return changed if known else self._complete(connection, owner, memory.id)

    def list(self, owner: str | None) -> list[Memory]:
        """Return the owner's memories, oldest first."""
        with self.database.reading() as connection:
            return _read(connection, is_owned_by(MEMORIES, owner))

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
            rows = _page(connection, memory.id, limit, None if after is None else _digest(after))
        return [StoredPair(row.digest.hex(), SegmentPair(row.source, row.target)) for row in rows]

    def read_pairs(self, memory_id: str) -> Iterator[SegmentPair]:
        """Yield all pairs of a memory, whoever owns it. No connection is held while they are used."""
        last = None
        while True:
            with self.database.reading() as connection:
                rows = _page(connection, memory_id, MAX_ROWS, last)
            for row in rows:
                yield SegmentPair(row.source, row.target)
            if len(rows) < MAX_ROWS:
                return
            last = rows[-1].digest

    def find_equal(self, memory_id: str, texts: Iterable[str]) -> dict[bytes, SegmentPair]:
        """Return the pairs whose sources equal one of the texts, by their digest, whoever owns the memory."""
        found: dict[bytes, SegmentPair] = {}
        with self.database.reading() as connection:
            remaining = iter(dict.fromkeys(map(source_digest, texts)))
            while digests := list(islice(remaining, MAX_ROWS)):
                wanted = sa.select(MEMORY_PAIRS).where(
                    MEMORY_PAIRS.c.memory_id == memory_id, MEMORY_PAIRS.c.digest.in_(digests)
                )
                for row in connection.execute(wanted):
                    found[row.digest] = SegmentPair(row.source, row.target)
        return found

    def delete(self, owner: str | None, memory_id: str) -> None:
        """Delete a memory with its pairs. It is invisible at once; the pairs are removed part by part."""
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            memory = _read_one(connection, owner, memory_id)
            is_marked = sa.update(MEMORIES).where(MEMORIES.c.id == memory.id)
            connection.execute(is_marked.values(removable_at=datetime.now(UTC)))
        self._remove(memory.id)

    def remove_leftovers(self, now: datetime) -> None:
        """Remove what deletions and imports of processes that were killed have left."""
        is_left = MEMORIES.c.removable_at <= now
        with self.database.reading() as connection:
            left = connection.execute(sa.select(MEMORIES.c.id).where(is_left)).scalars().all()
        for memory_id in left:
            self._remove(memory_id)

    def delete_pair(self, owner: str | None, memory_id: str, pair_id: str) -> Memory:
        """Delete one pair. Raises UnknownPair."""
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            memory = _read_one(connection, owner, memory_id)
            if not _delete_pairs(connection, owner, memory.id, [_digest(pair_id)]):
                raise UnknownPair(pair_id)
            return _read_one(connection, owner, memory.id)

    def _create(self, connection: sa.Connection, owner: str | None, memory: Memory) -> Memory:
        """Create a memory that is invisible until `_complete`, and return it."""
        if change_total(connection, Resource.MEMORIES, owner, 1, 0).num_items > self.limits.max_memories:
            raise TooManyMemories(self.limits.max_memories)
        row = {"id": memory.id, "key_id": owner, "name": memory.name, "created_at": memory.created_at}
        values = {**row, **memory.pair._asdict(), "removable_at": _import_end()}
        connection.execute(sa.insert(MEMORIES).values(values))
        return memory

    def _import(self, owner: str | None, memory_id: str, parts: Iterable[Sequence[_Row]]) -> Memory:
        """Write the other parts of a new memory, and complete it."""
        pacer = Pacer()
        for part in parts:
            pacer.rest()
            with self.database.writing() as connection:
                hold_lock(connection, _MEMORIES_LOCK)
                alive = sa.update(MEMORIES).where(
                    MEMORIES.c.id == memory_id, MEMORIES.c.removable_at > datetime.now(UTC)
                )
                if not connection.execute(alive.values(removable_at=_import_end())).rowcount:
                    raise StoreError(self.database.name, f"an import stood still for {IMPORT_S:g} s")
                self._write(connection, owner, memory_id, part)
        with self.database.writing() as connection:
            return self._complete(connection, owner, memory_id)

    def _complete(self, connection: sa.Connection, owner: str | None, memory_id: str) -> Memory:
        """Make a memory visible."""
        complete = sa.update(MEMORIES).where(MEMORIES.c.id == memory_id)
        connection.execute(complete.values(removable_at=None, version=1))
        return _read_one(connection, owner, memory_id)

    def _remove(self, memory_id: str) -> None:
        """Remove an invisible memory with its pairs; several callers may do so at a time."""
        pacer = Pacer()
        wanted = sa.select(MEMORY_PAIRS.c.digest, MEMORY_PAIRS.c.size_bytes)
        wanted = wanted.where(MEMORY_PAIRS.c.memory_id == memory_id).limit(MAX_ROWS)
        while True:
            with self.database.reading() as connection:
                rows = [dict(row) for row in connection.execute(wanted).mappings()]
            for part in _parts(rows):
                with self.database.writing() as connection:
                    hold_lock(connection, _MEMORIES_LOCK)
                    found = connection.execute(
                        sa.select(MEMORIES.c.key_id).where(MEMORIES.c.id == memory_id)
                    ).first()
                    if found is None:
                        return
                    if part:
                        _delete_pairs(connection, found.key_id, memory_id, [row["digest"] for row in part])
                    else:
                        connection.execute(sa.delete(MEMORIES).where(MEMORIES.c.id == memory_id))
                        change_total(connection, Resource.MEMORIES, found.key_id, -1, 0)
                pacer.rest()

    def _rows(self, pairs: Iterable[SegmentPair]) -> Sequence[_Row]:
        """Return the rows of checked pairs, before a transaction, which would keep others waiting."""
        checked = map(_row, checked_pairs(pairs, "pairs", self.limits.max_pairs))
        # Of pairs with equal sources the last one counts. A database adds them faster in this order.
        return sorted({row["digest"]: row for row in checked}.values(), key=itemgetter("digest"))

    def _add_part(self, owner: str | None, memory_id: str, part: Sequence[_Row]) -> Memory:
        with self.database.writing() as connection:
            hold_lock(connection, _MEMORIES_LOCK)
            return self._write(connection, owner, _read_one(connection, owner, memory_id).id, part)

    def _check_fit(self, owner: str | None, memory_id: str, parts: Iterable[Sequence[_Row]]) -> None:
        """Check the limits before the first of several parts is written."""
        with self.database.reading() as connection:
            memory = _read_one(connection, owner, memory_id)
            growths = [_growth(connection, memory_id, part) for part in parts]
            total = read_total(connection, Resource.MEMORIES, owner)
        num_pairs, size_bytes = (sum(numbers) for numbers in zip(*growths, strict=True))
        self._check(memory.num_pairs + num_pairs, total.size_bytes + size_bytes)

    def _check(self, num_pairs: int, size_bytes: int) -> None:
        if num_pairs > self.limits.max_pairs:
            problem = f"the memory would have {num_pairs} pairs; the limit is {self.limits.max_pairs}"
            raise MemoryInvalid("pairs", f"{problem}; split them into several memories")
        if size_bytes > self.limits.max_bytes:
            problem = f"all memories of the key would exceed the limit of {self.limits.max_bytes} bytes"
            raise MemoryInvalid("pairs", f"{problem}; delete some first")

    def _write(
        self, connection: sa.Connection, owner: str | None, memory_id: str, rows: Sequence[_Row]
    ) -> Memory:
        """Write one part, and check the limits."""
        num_pairs, size_bytes = _growth(connection, memory_id, rows)
        total = change_total(connection, Resource.MEMORIES, owner, 0, size_bytes)
        changed = _change(connection, memory_id, num_pairs, size_bytes)
        self._check(changed.num_pairs, total.size_bytes)
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        new = dialect.insert(MEMORY_PAIRS)
        excluded = {name: new.excluded[name] for name in ("source", "target", "size_bytes")}
        upsert = new.on_conflict_do_update(index_elements=["memory_id", "digest"], set_=excluded)
        insert_rows(connection, upsert, [{"memory_id": memory_id, **row} for row in rows])
        return changed


def _new_memory(name: str, pair: Pair, memory_id: str | None = None) -> Memory:
    now = datetime.now(UTC)
    return Memory(memory_id or str(uuid.uuid4()), name, pair, 0, 0, 0, now, now)


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


def _row(pair: SegmentPair) -> _Row:
    return {
        "digest": source_digest(pair.source),
        "source": pair.source,
        "target": pair.target,
        "size_bytes": len(pair.source.encode()) + len(pair.target.encode()),
    }


def _parts(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Split rows into parts for one transaction each; there is one at least."""
    parts: list[list[_Row]] = [[]]
    size_bytes = 0
    for row in rows:
        size_bytes += row["size_bytes"]
        if len(parts[-1]) == MAX_ROWS or (parts[-1] and size_bytes > MAX_WRITTEN_BYTES):
            parts.append([])
            size_bytes = row["size_bytes"]
        parts[-1].append(row)
    return parts


def _import_end() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=IMPORT_S)


def _growth(connection: sa.Connection, memory_id: str, rows: Sequence[_Row]) -> tuple[int, int]:
    """Return the number of pairs and bytes by which rows, distinct or not, will enlarge a memory."""
    sizes = {row["digest"]: row["size_bytes"] for row in rows}
    stored = sa.select(MEMORY_PAIRS.c.size_bytes).where(
        MEMORY_PAIRS.c.memory_id == memory_id, MEMORY_PAIRS.c.digest.in_([*sizes])
    )
    known = connection.execute(stored).scalars().all()
    return len(sizes) - len(known), sum(sizes.values()) - sum(known)


def _delete_pairs(
    connection: sa.Connection, owner: str | None, memory_id: str, digests: Sequence[bytes]
) -> int:
    """Delete pairs of a memory, and return how many there were."""
    deletion = sa.delete(MEMORY_PAIRS).where(
        MEMORY_PAIRS.c.memory_id == memory_id, MEMORY_PAIRS.c.digest.in_(digests)
    )
    sizes = connection.execute(deletion.returning(MEMORY_PAIRS.c.size_bytes)).scalars().all()
    if sizes:
        change_total(connection, Resource.MEMORIES, owner, 0, -sum(sizes))
        _change(connection, memory_id, -len(sizes), -sum(sizes))
    return len(sizes)


def _change(connection: sa.Connection, memory_id: str, num_pairs: int, size_bytes: int) -> Memory:
    """Add to the counts of a memory and to its version."""
    counts = {
        "num_pairs": MEMORIES.c.num_pairs + num_pairs,
        "size_bytes": MEMORIES.c.size_bytes + size_bytes,
        "version": MEMORIES.c.version + 1,
        "updated_at": datetime.now(UTC),
    }
    changed = sa.update(MEMORIES).where(MEMORIES.c.id == memory_id).values(counts)
    return _memory(connection.execute(changed.returning(MEMORIES)).one())


def _page(
    connection: sa.Connection, memory_id: str, limit: int, after: bytes | None
) -> Sequence[sa.Row[Any]]:
    """Read up to `limit` pairs, in the order of their digests, beginning after one."""
    wanted = sa.select(MEMORY_PAIRS).where(MEMORY_PAIRS.c.memory_id == memory_id)
    if after is not None:
        wanted = wanted.where(MEMORY_PAIRS.c.digest > after)
    return connection.execute(wanted.order_by(MEMORY_PAIRS.c.digest).limit(limit)).all()


def _read(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[Memory]:
    is_complete = MEMORIES.c.removable_at.is_(None)
    wanted = sa.select(MEMORIES).where(is_complete, *conditions)
    wanted = wanted.order_by(MEMORIES.c.created_at, MEMORIES.c.id)
    return [_memory(row) for row in connection.execute(wanted)]


def _read_one(connection: sa.Connection, owner: str | None, memory_id: str) -> Memory:
    for memory in _read(connection, is_own(MEMORIES, owner, memory_id)):
        return memory
    raise UnknownMemory(memory_id)


def _memory(row: sa.Row[Any]) -> Memory:
    pair = Pair(row.source, row.target)
    counts = row.num_pairs, row.size_bytes, row.version
    times = row.created_at, row.updated_at or row.created_at
    return Memory(row.id, row.name, pair, *counts, *times, row.num_skipped)


def _digest(pair_id: str) -> bytes:
    """Return the digest that an id stands for. Raises UnknownPair."""
    if len(pair_id) != 2 * DIGEST_SIZE_BYTES or set(pair_id) - set("0123456789abcdef"):
        raise UnknownPair(pair_id)
    return bytes.fromhex(pair_id)
