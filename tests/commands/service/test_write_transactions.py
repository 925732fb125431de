"""Writers of all stores share one lock: each keeps others waiting no longer the more is stored or sent."""

import ast
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from dragoman.pipeline.pacing import Pacer
from dragoman.terms import Term
from dragoman.types import Pair
from service.accounts.database import MAX_ROWS, Database
from service.accounts.key_store import KeyStore
from service.accounts.totals import Resource, change_total
from service.accounts.usage import Charge, UsageStore
from service.accounts.write_lock import WriteKind, WriteLock
from service.batch.journal import Journal
from service.glossaries.entries import Dictionary
from service.glossaries.store import MAX_DICTIONARIES, GlossaryLimits, GlossaryStore
from service.jobs.job import JobOutcome, JobState, RunProgress, StoredFile
from service.jobs.store import JobStore
from service.memories.pairs import SegmentPair
from service.memories.store import MemoryStore
from service.schema.tables import GLOSSARIES, JOBS, MEMORIES, MEMORY_PAIRS, TRANSLATIONS
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from tests.engine.routing.doubles import until
from tests.jobs.conftest import claimed, new_job
from tests.paths import ROOT
from tests.service.accounts.conftest import NOON, new_key

NUM_STORED = 20 * MAX_ROWS
MAX_STEPS_OF_ROW = 100
"""Maximum steps of SQLite's machine for a row that a statement changes, with its indexes."""
STEP = 20
"""Number of steps between two counts."""
DE_EN = Pair("de", "en")
MONTH = "2026-11"
MEMORY, GLOSSARY = "m" * 36, "g" * 36
RESULT = StoredFile("x", 10)


@dataclass
class Work:
    """Steps of each statement of transactions that write, and the functions that open these."""

    steps: dict[str, int] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    statement: str | None = None

    def step(self) -> int:
        if self.statement is not None:
            self.steps[self.statement] = self.steps.get(self.statement, 0) + STEP
        return 0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(f"sqlite:///{tmp_path / 'accounts.db'}")) as opened:
        yield opened


@pytest.fixture
def work(database: Database, monkeypatch: pytest.MonkeyPatch) -> Work:
    """What is measured from now on."""
    seen, numbers, writing = Work(), count(), Database.writing

    def note_function(self: Database, *kinds: WriteKind) -> AbstractContextManager[sa.Connection]:
        caller = sys._getframe(1)
        seen.functions.add(f"{Path(caller.f_code.co_filename).relative_to(ROOT)}:{caller.f_code.co_name}")
        return writing(self, *kinds)

    def begin(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if connection.get_execution_options().get("is_writing", False):
            driver_connection = connection.connection.driver_connection
            assert isinstance(driver_connection, sqlite3.Connection)
            driver_connection.set_progress_handler(seen.step, STEP)
            seen.statement = f"{next(numbers)} {statement}"

    def end(_connection: object) -> None:
        seen.statement = None

    sa.event.listen(database.engine, "before_cursor_execute", begin)
    sa.event.listen(database.engine, "commit", end)
    sa.event.listen(database.engine, "rollback", end)
    monkeypatch.setattr(Database, "writing", note_function)
    monkeypatch.setattr(Pacer, "rest", lambda _: None)  # others that run do not matter here
    return seen


def fill(database: Database, owner: str) -> None:
    """Store very much of everything, mostly the owner's."""
    numbers, jobs = range(NUM_STORED), JobStore(database)
    one = jobs.add(new_job(jobs, owner))
    with database.reading() as connection:
        job: dict[str, Any] = dict(connection.execute(sa.select(JOBS)).mappings().one())
    rows: Mapping[sa.Table, Iterator[dict[str, Any]]] = {
        MEMORIES: iter([_memory(owner, MEMORY, NUM_STORED)]),
        MEMORY_PAIRS: (
            {"memory_id": MEMORY, "digest": b"%16d" % n, "source": f"s{n}", "target": "t", "size_bytes": 9}
            for n in numbers
        ),
        GLOSSARIES: ({"id": f"{n}", "key_id": owner, "name": "g", "created_at": NOON} for n in numbers),
        JOBS: ({**job, "id": f"{n:032}", **_state(n)} for n in numbers),
        TRANSLATIONS: (
            {"job": one.id, "key": b"%d" % n, "is_cut": False, "checksum": b"", "text": b"x"} for n in numbers
        ),
    }
    with database.writing() as connection:
        for table, stored in rows.items():
            connection.execute(sa.insert(table), [*stored])
        change_total(connection, Resource.MEMORIES, owner, 1, 9 * NUM_STORED)
        change_total(connection, Resource.GLOSSARIES, owner, NUM_STORED, 0)


def _memory(owner: str, memory_id: str, num_pairs: int) -> dict[str, Any]:
    languages = {"source": "de", "target": "en", "size_bytes": 9 * num_pairs}
    times = {"created_at": NOON, "removable_at": None}
    return {"id": memory_id, "key_id": owner, "name": "m", "num_pairs": num_pairs, **languages, **times}


def _state(number: int) -> dict[str, Any]:
    """Half of the jobs are queued, of callers without a key; the others are done."""
    return {"state": JobState.QUEUED, "key_id": None} if number % 2 else {"state": JobState.DONE}


def write_everything(database: Database, owner: str) -> None:
    """Call every write of every store, with as much as it accepts."""
    write_memories(MemoryStore(database), owner)
    write_glossaries(GlossaryStore(database, GlossaryLimits(max_glossaries=2 * NUM_STORED)), owner)
    write_jobs(JobStore(database), owner)
    keys, usage = KeyStore(database), UsageStore(database)
    keys.revoke(new_key(keys).key.id, NOON)
    charge = Charge(owner, MONTH, 5, 0)
    usage.charge(charge, None)
    usage.refund(charge)


def write_memories(store: MemoryStore, owner: str) -> None:
    pairs = [SegmentPair(f"s{number}", "x" * 3000) for number in range(3 * MAX_ROWS)]
    store.note_skipped(store.add(owner, "imported", DE_EN, pairs), 1)
    changed = store.add_pairs(owner, MEMORY, pairs)
    assert changed.num_pairs == NUM_STORED + len(pairs)
    [first] = store.page(owner, MEMORY, 1)
    store.delete_pair(owner, MEMORY, first.id)
    store.suggest(owner, DE_EN, pairs[0])
    store.delete(owner, MEMORY)
    store.remove_leftovers(NOON)


def write_glossaries(store: GlossaryStore, owner: str) -> None:
    terms = tuple(Term(f"t{number}") for number in range(store.limits.max_entries - MAX_DICTIONARIES))
    pairs = [Pair("de", f"x{number}") for number in range(MAX_DICTIONARIES)]
    glossary = store.add(owner, "g", [Dictionary(pair, terms[:1]) for pair in pairs], NOON)
    store.put_dictionary(owner, glossary.id, Dictionary(pairs[0], terms))
    store.delete(owner, glossary.id)


def write_jobs(store: JobStore, owner: str) -> None:
    for ending in (JobState.DONE, JobState.CANCELLED):
        store.add_ended(new_job(store), JobOutcome(ending, result=RESULT))
    store.cancel(store.add(new_job(store, owner)))
    job = claimed(store)
    store.beat(job.id, "worker", RunProgress(1, 0))
    store.release(job.id, "worker")
    job = claimed(store)
    journal = Journal(store.database, job.id)
    journal.begin({"a": "b"})
    journal.commit({b"%d" % n: TextOutcome(MarkedText("x")) for n in range(200)})
    store.end(job, "worker", JobOutcome(JobState.FAILED, refund_characters=0))
    store.remove(job)
    with store.database.reading() as connection:
        most = sa.select(TRANSLATIONS.c.job).group_by(TRANSLATIONS.c.job).order_by(sa.func.count().desc())
        Journal(store.database, connection.execute(most).scalars().first() or "").forget()


def functions_that_write() -> set[str]:
    """Every function of the service that opens a transaction of a database that writes."""
    found: set[str] = set()
    for path in (ROOT / "service").rglob("*.py"):
        if path.name == "journal_file.py":  # a file of its own, which nobody else waits for
            continue
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and any(
                isinstance(node, ast.withitem) and ".writing(" in ast.unparse(node.context_expr)
                for node in ast.walk(function)
            ):
                found.add(f"{path.relative_to(ROOT)}:{function.name}")
    return found


def test_no_statement_of_a_write_touches_more_rows_the_more_is_stored(database: Database, work: Work) -> None:
    owner = new_key(KeyStore(database)).key.id
    fill(database, owner)
    work.steps.clear()

    write_everything(database, owner)

    costly = {what[:300]: steps for what, steps in work.steps.items() if steps > MAX_ROWS * MAX_STEPS_OF_ROW}
    assert costly == {}
    assert functions_that_write() - work.functions == set()


def test_charges_go_first_and_others_in_order_of_arrival() -> None:
    lock, done = WriteLock(), list[str]()
    assert lock.acquire(WriteKind.OTHER, 0)
    threads = []
    for name, kind in (("a", WriteKind.OTHER), ("b", WriteKind.OTHER), ("charge", WriteKind.CHARGE)):

        def write(name: str = name, kind: WriteKind = kind) -> None:
            assert lock.acquire(kind, 60)
            done.append(name)
            lock.release()

        threads.append(Thread(target=write))
        threads[-1].start()
        until(lambda: len(lock._waiting) == len(threads))
    assert not lock.acquire(WriteKind.CHARGE, 0)

    lock.release()

    for thread in threads:
        thread.join()
    assert done == ["charge", "a", "b"]
    assert lock.acquire(WriteKind.OTHER, 0)
