"""What became of every distinct entry of a job, kept where neither a kill nor a full disk loses it."""

import hashlib
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from service.batch.errors import JournalDamaged, OtherJob
from service.batch.texts import Outcome, Translated, Untranslated

JOB_LENGTH = 64
CHECKSUM_SIZE_BYTES = 8
MOST_KEYS = 512
"""Asked for in one statement."""
SHOWN_DIFFERENCES = 3

METADATA = MetaData()

TRANSLATIONS = Table(
    "translations",
    METADATA,
    Column("job", String(JOB_LENGTH), primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    # Bytes, as PostgreSQL's text cannot hold every character.
    Column("text", LargeBinary),
    Column("problem", Text),
    Column("is_cut", Boolean, nullable=False),
    Column("checksum", LargeBinary, nullable=False),
)

_COLUMNS = [TRANSLATIONS.c[name] for name in ("key", "text", "problem", "is_cut", "checksum")]

FACTS = Table(
    "job_facts",
    METADATA,
    Column("job", String(JOB_LENGTH), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)


class JournalStore(Protocol):
    """A database with the tables of `METADATA`, as `service.accounts.database.Database` is one."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """One look at the database."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """A change that is made wholly when the block ends, or not at all if it raises."""
        ...


@dataclass(frozen=True, slots=True)
class Journal:
    """One job's part of a store. All methods raise what the store raises where it fails."""

    store: JournalStore
    job: str = ""
    """Empty where a store has one job."""

    def begin(self, facts: Mapping[str, str]) -> None:
        """Note what the job is, or compare it with what was noted.

        Args:
            facts: all that translations and files depend on, by names for people.

        Raises:
            OtherJob: the journal was begun with others.
        """
        with self.store.writing() as connection:
            known = _facts(connection, self.job)
            if not known:
                rows = [{"job": self.job, "name": name, "value": value} for name, value in facts.items()]
                connection.execute(insert(FACTS), rows)
            elif known != dict(facts):
                raise OtherJob(_differences(known, facts))

    def facts(self) -> dict[str, str]:
        """What was noted; nothing before `begin`."""
        with self.store.reading() as connection:
            return _facts(connection, self.job)

    def outcomes(self, keys: Collection[bytes]) -> dict[bytes, Outcome]:
        """What became of entries, of those that are here.

        Raises:
            JournalDamaged: a row is not what was written.
        """
        distinct = list(dict.fromkeys(keys))
        found: dict[bytes, Outcome] = {}
        with self.store.reading() as connection:
            for start in range(0, len(distinct), MOST_KEYS):
                wanted = distinct[start : start + MOST_KEYS]
                query = select(*_COLUMNS).where(
                    TRANSLATIONS.c.job == self.job, TRANSLATIONS.c.key.in_(wanted)
                )
                for key, text, problem, is_cut, checksum in connection.execute(query):
                    if _checksum(key, text, problem, is_cut) != checksum:
                        raise JournalDamaged(self.store.name, "a translation is not what was written")
                    found[key] = _outcome(text, problem, is_cut)
        return found

    def commit(self, outcomes: Mapping[bytes, Outcome]) -> None:
        """Keep all of a chunk; when it returns, they outlive this process, and if it raises, none is kept.

        What is here already stays: the same entry comes to the same.
        """
        if not outcomes:
            return
        rows = [_row(self.job, key, outcome) for key, outcome in outcomes.items()]
        with self.store.writing() as connection:
            dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
            connection.execute(dialect.insert(TRANSLATIONS).on_conflict_do_nothing(), rows)

    def num_outcomes(self) -> int:
        """Distinct entries that are here."""
        with self.store.reading() as connection:
            query = select(func.count()).select_from(TRANSLATIONS).where(TRANSLATIONS.c.job == self.job)
            return connection.execute(query).scalar_one()

    def forget(self) -> None:
        """Remove all of the job."""
        with self.store.writing() as connection:
            for table in (TRANSLATIONS, FACTS):
                connection.execute(delete(table).where(table.c.job == self.job))


def _facts(connection: Connection, job: str) -> dict[str, str]:
    rows = connection.execute(select(FACTS.c.name, FACTS.c.value).where(FACTS.c.job == job))
    return {row.name: row.value for row in rows}


def _differences(known: Mapping[str, str], facts: Mapping[str, str]) -> tuple[str, ...]:
    absent = "not there"
    names = [name for name in {**known, **facts} if known.get(name) != facts.get(name)]
    shown = [
        f"{name} was {known.get(name, absent)} and is {facts.get(name, absent)}"
        for name in names[:SHOWN_DIFFERENCES]
    ]
    more = len(names) - len(shown)
    return (*shown, f"and {more} more") if more else tuple(shown)


def _row(job: str, key: bytes, outcome: Outcome) -> dict[str, object]:
    text, problem, is_cut = None, None, False
    if isinstance(outcome, Translated):
        text, is_cut = outcome.text.encode("utf-8", "surrogatepass"), outcome.is_cut
    else:
        problem = outcome.problem.replace("\0", "\N{REPLACEMENT CHARACTER}")
    checksum = _checksum(key, text, problem, is_cut)
    return {"job": job, "key": key, "text": text, "problem": problem, "is_cut": is_cut, "checksum": checksum}


def _outcome(text: bytes | None, problem: str | None, is_cut: bool) -> Outcome:  # noqa: FBT001 -- a column
    if text is None:
        return Untranslated(problem or "")
    return Translated(text.decode("utf-8", "surrogatepass"), is_cut)


def _checksum(key: bytes, text: bytes | None, problem: str | None, is_cut: bool) -> bytes:  # noqa: FBT001 -- a column
    digest = hashlib.blake2b(key, digest_size=CHECKSUM_SIZE_BYTES)
    digest.update(b"?" if text is None else b"=" + len(text).to_bytes(8) + text)
    digest.update((problem or "").encode("utf-8", "surrogatepass"))
    digest.update(b"-" if is_cut else b".")
    return digest.digest()
