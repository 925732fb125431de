"""What is kept is kept, and what was damaged is told of."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, text, update

from service.accounts.database import Database
from service.accounts.errors import StoreError
from service.batch.errors import BatchStopped, JournalDamaged, JournalFailed, OtherJob
from service.batch.journal import Journal
from service.batch.journal_file import remove_journal
from service.schema.tables import TRANSLATIONS
from service.text.marked_text import MarkedText
from service.text.outcome import Check, CheckFailure, TextOrigin, TextOutcome
from tests.jobs.batch.doubles import journal_in

OUTCOMES = st.builds(
    TextOutcome,
    st.builds(MarkedText, st.text(st.characters())),
    failed=st.just(()) | st.tuples(st.builds(CheckFailure, st.sampled_from(Check), st.text("ab;: \n"))),
    is_cut=st.booleans(),
    origin=st.sampled_from(TextOrigin),
    confidence=st.none() | st.sampled_from([0.0, 0.25, 1.0]),
) | st.builds(
    TextOutcome,
    st.builds(MarkedText, st.text()),
    origin=st.just(TextOrigin.SOURCE),
    rejection=st.text(min_size=1).filter(lambda problem: "\0" not in problem),
)
KEYS = st.binary(min_size=16, max_size=16)
ONE, OTHER = b"1" * 16, b"2" * 16


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with journal_in(tmp_path) as opened:
        yield opened


def postgres_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("postgres").new_database())


@pytest.fixture(params=["a file", "sqlite", "postgresql"])
def any_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """In a file of its own, and in a service's database of each kind."""
    if request.param == "a file":
        yield request.getfixturevalue("journal")
        return
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'service.db'}" if is_sqlite else postgres_url(request)
    with closing(Database.open(url)) as database:
        yield Journal(database)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(KEYS, OUTCOMES))
def test_committed_outcomes_can_be_looked_up(
    any_journal: Journal, outcomes: dict[bytes, TextOutcome]
) -> None:
    any_journal.forget()
    for _ in range(2):  # keeping what is kept changes nothing
        any_journal.commit(outcomes)

    assert any_journal.outcomes([*outcomes, b"absent"]) == outcomes
    assert any_journal.num_outcomes() == len(outcomes)


def test_more_keys_than_fit_in_a_statement_can_be_looked_up(any_journal: Journal) -> None:
    outcomes = {number.to_bytes(16): TextOutcome(MarkedText(str(number))) for number in range(3000)}
    any_journal.commit(outcomes)

    assert any_journal.outcomes(list(outcomes)) == outcomes
    assert any_journal.num_outcomes() == 3000


def test_jobs_in_one_database_have_separate_journals(any_journal: Journal) -> None:
    journal = any_journal
    other = Journal(journal.store, "other")
    journal.begin({"model": "a"})
    other.begin({"model": "b"})
    journal.commit({ONE: TextOutcome(MarkedText("one"))})
    other.commit({ONE: TextOutcome(MarkedText("another"), is_cut=True)})

    assert journal.outcomes([ONE]) == {ONE: TextOutcome(MarkedText("one"))}
    assert other.outcomes([ONE]) == {ONE: TextOutcome(MarkedText("another"), is_cut=True)}
    other.forget()
    assert (other.num_outcomes(), other.facts()) == (0, {})
    assert (journal.num_outcomes(), journal.facts()) == (1, {"model": "a"})


NO_ROOM_FOR_B = {
    "sqlite": (
        "CREATE TRIGGER full BEFORE INSERT ON translations WHEN NEW.text = x'226222' "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    ),
    "postgresql": "ALTER TABLE translations ADD CONSTRAINT \"no room\" CHECK (text <> '\\x226222')",
}


def test_a_chunk_is_committed_atomically(any_journal: Journal) -> None:
    with any_journal.store.writing() as connection:
        connection.execute(text(NO_ROOM_FOR_B[connection.dialect.name]))

    with pytest.raises((JournalFailed, StoreError), match="no room"):
        any_journal.commit({ONE: TextOutcome(MarkedText("a")), OTHER: TextOutcome(MarkedText("b"))})

    assert any_journal.num_outcomes() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"text": b"other text"},
        {"text": None},
        {"text": None, "problem": "bad"},
        {"problem": "bad"},
        {"is_cut": True},
        {"key": b"3" * 16},
    ],
)
def test_a_damaged_row_is_a_clear_error(any_journal: Journal, change: dict[str, object]) -> None:
    any_journal.commit({ONE: TextOutcome(MarkedText("eins"))})
    with any_journal.store.writing() as connection:
        connection.execute(update(TRANSLATIONS).values(**change))

    with pytest.raises(JournalDamaged, match="--force"):
        any_journal.outcomes([ONE, b"3" * 16])


def damaged_pages(content: bytes) -> bytes:
    return content[:8192] + bytes(len(content) - 8192 - 4096) + content[-4096:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"not a database at all" * 1000,
        lambda content: content.replace(b"translations", b"\x81" * len(b"translations"), 1),
        damaged_pages,
    ],
    ids=["no database", "a name that is not UTF-8", "pages"],
)
def test_damaged_pages_are_a_clear_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    keys = [number.to_bytes(16) for number in range(500)]
    with journal_in(tmp_path) as journal:
        journal.commit(dict.fromkeys(keys, TextOutcome(MarkedText("text " * 50))))
    path = tmp_path / "job.journal"
    path.write_bytes(damage(path.read_bytes()))

    def read() -> None:
        with journal_in(tmp_path) as journal:
            journal.outcomes(keys)

    with pytest.raises((JournalDamaged, JournalFailed)):
        read()


def test_a_journal_in_use_by_another_process_is_rejected(journal: Journal, tmp_path: Path) -> None:
    journal.begin({"model": "a"})

    with pytest.raises(BatchStopped, match="locked"), journal_in(tmp_path):
        pass


def test_a_removed_journal_is_empty_when_created_again(tmp_path: Path) -> None:
    path = tmp_path / "job.journal"
    with journal_in(tmp_path) as journal:
        journal.commit({ONE: TextOutcome(MarkedText("eins"))})
        log = path.with_name("job.journal-wal").read_bytes()
    remove_journal(path)
    path.with_name("job.journal-wal").write_bytes(log)  # as a kill between the two removals leaves it

    with journal_in(tmp_path) as journal:
        assert journal.num_outcomes() == 0


def test_a_job_with_another_fingerprint_is_rejected_with_the_differences(any_journal: Journal) -> None:
    journal = any_journal
    journal.begin({"model": "a", "beam": "1", "same": "yes"})

    with pytest.raises(OtherJob) as reported:
        journal.begin({"model": "b", "shortlist": "no", "same": "yes"})

    assert set(reported.value.differences) == {
        "model was a and is b",
        "beam was 1 and is absent",
        "shortlist was absent and is no",
    }
    journal.begin({"same": "yes", "beam": "1", "model": "a"})


def test_every_row_has_a_checksum(journal: Journal) -> None:
    with pytest.raises(JournalFailed), journal.store.writing() as connection:
        connection.execute(insert(TRANSLATIONS).values(job="", key=ONE, is_cut=False))


def test_a_commit_survives_the_death_of_its_process(journal: Journal, tmp_path: Path) -> None:
    journal.commit({ONE: TextOutcome(MarkedText("eins"))})
    assert (tmp_path / "job.journal").stat().st_mode & 0o077 == 0  # nobody else may read it
    for ending in ("", "-wal"):  # what is on the disk now, with the journal still open
        (tmp_path / f"copy{ending}").write_bytes((tmp_path / f"job.journal{ending}").read_bytes())

    with sqlite3.connect(tmp_path / "copy") as copy:
        assert copy.execute("SELECT text FROM translations").fetchall() == [(b'"eins"',)]
    copy.close()
