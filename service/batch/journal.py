"""The outcome of every distinct entry of a job, in a database that survives a kill and a full disk."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from dragoman.types import Pair
from service.accounts.database import MAX_ROWS, Database, insert_rows
from service.batch.errors import JournalDamaged, OtherJob
from service.batch.journal_file import JournalFile
from service.formats.entries import Entry
from service.schema.tables import FACTS, TRANSLATIONS
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin, TextOutcome

CHECKSUM_SIZE_BYTES = 8
MAX_KEYS = MAX_ROWS
"""Maximum number of keys in one statement."""
SHOWN_DIFFERENCES = 3
_TRANSLATED = "translated characters"
"""Name of the row with the number of characters translated so far; the facts of a job have other names."""

_COLUMNS = [
    TRANSLATIONS.c[name] for name in ("key", "text", "problem", "is_cut", "origin", "confidence", "checksum")
]


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one job in a store. All methods raise the store's errors if it fails."""

    store: Database | JournalFile
    job: str = ""
    """Id of the job; empty if the store has only one."""

    def begin(self, facts: Mapping[str, str]) -> None:
        """Record the facts of a new job, or compare them with those recorded.

        Args:
            facts: all that translations and files depend on, under readable names.

        Raises:
            OtherJob: the journal was begun with other facts.
        """
        with self.store.writing() as connection:
            known = _facts(connection, self.job)
            if not known:
                rows = [{"job": self.job, "name": name, "value": value} for name, value in facts.items()]
                connection.execute(sa.insert(FACTS), rows)
            elif known != dict(facts):
                raise OtherJob(_differences(known, facts))

    def facts(self) -> dict[str, str]:
        """Return the recorded facts; empty before `begin`."""
        with self.store.reading() as connection:
            return _facts(connection, self.job)

    def outcomes(self, keys: Collection[bytes]) -> dict[bytes, TextOutcome]:
        """Return the outcomes of those keys that are in the journal.

        Raises:
            JournalDamaged: a row does not match its checksum.
        """
        distinct = list(dict.fromkeys(keys))
        found: dict[bytes, TextOutcome] = {}
        with self.store.reading() as connection:
            for start in range(0, len(distinct), MAX_KEYS):
                wanted = distinct[start : start + MAX_KEYS]
                query = sa.select(*_COLUMNS).where(
                    TRANSLATIONS.c.job == self.job, TRANSLATIONS.c.key.in_(wanted)
                )
                for row in connection.execute(query).mappings():
                    if _checksum(row) != row["checksum"]:
                        raise JournalDamaged(self.store.name, "a translation does not match its checksum")
                    found[row["key"]] = read_outcome(row)
        return found

    def commit(self, outcomes: Mapping[bytes, TextOutcome], num_characters: int = 0) -> None:
        """Store all outcomes of a chunk durably, or none of them if this raises.

        Outcomes already in the journal stay: the same entry has the same outcome.

        Args:
            outcomes: outcomes by key.
            num_characters: number of characters translated so far. A resumed job counts from 0 again, so
                that a smaller number than the stored one changes nothing.
        """
        rows = [_row(self.job, key, outcome) for key, outcome in outcomes.items()]
        if not rows and not num_characters:
            return
        with self.store.writing() as connection:
            dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
            if rows:
                insert_rows(connection, dialect.insert(TRANSLATIONS).on_conflict_do_nothing(), rows)
            if num_characters:
                count = dialect.insert(FACTS).values(
                    job=self.job, name=_TRANSLATED, value=str(num_characters)
                )
                count = count.on_conflict_do_update(
                    index_elements=FACTS.primary_key,
                    set_={"value": count.excluded.value},
                    where=sa.cast(FACTS.c.value, sa.BigInteger) < num_characters,
                )
                connection.execute(count)

    def num_characters(self) -> int:
        """Return the number of characters translated so far, as last committed."""
        with self.store.reading() as connection:
            return translated_characters(connection, self.job)

    def num_outcomes(self) -> int:
        """Count the distinct entries in the journal."""
        with self.store.reading() as connection:
            query = sa.select(sa.func.count()).select_from(TRANSLATIONS).where(TRANSLATIONS.c.job == self.job)
            return connection.execute(query).scalar_one()

    def forget(self) -> None:
        """Remove all outcomes and facts of the job, a part at a time: other writers wait for each."""
        of_job = TRANSLATIONS.c.job == self.job
        some = sa.select(TRANSLATIONS.c.key).where(of_job).limit(MAX_KEYS)
        deletion = sa.delete(TRANSLATIONS).where(of_job, TRANSLATIONS.c.key.in_(some))
        is_left = True
        while is_left:
            with self.store.writing() as connection:
                is_left = connection.execute(deletion).rowcount > 0
        with self.store.writing() as connection:
            connection.execute(sa.delete(FACTS).where(FACTS.c.job == self.job))


def translated_characters(connection: sa.Connection, job: str) -> int:
    """Return the number of characters of a job translated so far, in a transaction."""
    is_count = (FACTS.c.job == job) & (FACTS.c.name == _TRANSLATED)
    return int(connection.execute(sa.select(FACTS.c.value).where(is_count)).scalar() or 0)


def _facts(connection: sa.Connection, job: str) -> dict[str, str]:
    is_fact = (FACTS.c.job == job) & (FACTS.c.name != _TRANSLATED)
    rows = connection.execute(sa.select(FACTS.c.name, FACTS.c.value).where(is_fact))
    return {row.name: row.value for row in rows}


def _differences(known: Mapping[str, str], facts: Mapping[str, str]) -> tuple[str, ...]:
    absent = "absent"
    names = [name for name in {**known, **facts} if known.get(name) != facts.get(name)]
    shown = [
        f"{name} was {known.get(name, absent)} and is {facts.get(name, absent)}"
        for name in names[:SHOWN_DIFFERENCES]
    ]
    more = len(names) - len(shown)
    return (*shown, f"and {more} more") if more else tuple(shown)


def _row(job: str, key: bytes, outcome: TextOutcome) -> dict[str, object]:
    problem = outcome.problem and outcome.problem.replace("\0", "\N{REPLACEMENT CHARACTER}")
    row = {**outcome_row(key, outcome), "job": job, "problem": problem}
    return {**row, "checksum": _checksum(row)}


def outcome_row(key: bytes, outcome: TextOutcome) -> dict[str, object]:
    """Return the row of an outcome, in a journal or in a cluster's file."""
    return {
        "key": key,
        "text": marked_bytes(outcome.marked),
        "problem": outcome.problem,
        "is_cut": outcome.is_cut,
        "origin": None if outcome.origin is TextOrigin.MACHINE else outcome.origin.value,
        "confidence": outcome.confidence,
    }


def read_outcome(row: Mapping[Any, Any]) -> TextOutcome:
    """Return the outcome of such a row."""
    marked, origin = marked_of_bytes(row["text"]), TextOrigin(row["origin"] or TextOrigin.MACHINE)
    outcome = TextOutcome(marked, origin=origin, is_cut=row["is_cut"], confidence=row["confidence"])
    return outcome.with_problem(row["problem"])


def marked_bytes(marked: MarkedText) -> bytes:
    """Return a text as rows and keys have it."""
    return json.dumps(marked.to_json(), ensure_ascii=False).encode("utf-8", "surrogatepass")


def marked_of_bytes(content: bytes) -> MarkedText:
    """Return the text that `marked_bytes` encoded."""
    return MarkedText.from_json(json.loads(content.decode("utf-8", "surrogatepass")))


def _checksum(row: Mapping[Any, Any]) -> bytes:
    text: bytes = row["text"] or b""
    digest = hashlib.blake2b(row["key"], digest_size=CHECKSUM_SIZE_BYTES)
    digest.update(b"=" + len(text).to_bytes(8) + text)
    digest.update((row["problem"] or "").encode("utf-8", "surrogatepass"))
    digest.update(b"-" if row["is_cut"] else b".")
    if row["origin"] is not None or row["confidence"] is not None:  # older rows have neither
        digest.update(f"{row['origin']} {row['confidence']!r}".encode())
    return digest.digest()


KEY_SIZE_BYTES = 16
"""Size of a key: with 128 bits, a collision among 1e9 texts has a probability below 2e-21."""


def entry_key(entry: Entry, pair: Pair) -> bytes:
    """Return a digest of all that an entry's translation depends on, except the job's bundles and options.

    Args:
        entry: the entry; its location is ignored.
        pair: source and target language.

    Returns:
        `KEY_SIZE_BYTES` bytes (BLAKE2b).
    """
    digest = hashlib.blake2b(_context(pair, entry.is_message), digest_size=KEY_SIZE_BYTES)
    digest.update(marked_bytes(entry.marked))
    return digest.digest()


@lru_cache(maxsize=64)
def _context(pair: Pair, is_message: bool) -> bytes:  # noqa: FBT001 -- a cache's key
    # JSON escapes line feeds, so the one at its end separates it from any text that follows.
    return json.dumps([*pair, is_message]).encode() + b"\n"


WINDOW_ENTRIES = 256


class EntryLookup(NamedTuple):
    """An entry with its key and its outcome."""

    key: bytes
    entry: Entry
    outcome: TextOutcome | None
    """None if the journal has no outcome."""


def look_up(journal: Journal, entries: Iterable[Entry], pair: Pair) -> Iterator[list[EntryLookup]]:
    """Yield windows of entries with their outcomes, lazily and in order.

    Raises:
        JournalFailed, JournalDamaged: see `Journal.outcomes`.
    """
    remaining = iter(entries)
    while window := list(islice(remaining, WINDOW_ENTRIES)):
        keys = [entry_key(entry, pair) for entry in window]
        known = journal.outcomes(keys)
        yield [EntryLookup(key, entry, known.get(key)) for key, entry in zip(keys, window, strict=True)]
