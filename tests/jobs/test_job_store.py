"""Jobs in databases of both kinds: claimed in turn by one worker at a time, ended and charged once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from dragoman import DecodingOptions
from dragoman.types import Formality
from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.accounts.usage import Usage, UsageStore
from service.formats.review_marks import ReviewMarks
from service.jobs.errors import JobsFull, LeaseLost, TooManyJobs, UnknownJob
from service.jobs.job import (
    MAX_SETBACKS,
    ClaimKind,
    Job,
    JobOutcome,
    JobRequest,
    JobState,
    NewJob,
    RunProgress,
    StoredFile,
)
from service.jobs.store import JobStore
from service.schema.tables import JOBS
from service.settings.settings import Settings
from service.text.options import PlaceholderMode
from service.translation.options import OnFailure, TranslationOptions
from tests.jobs.conftest import LEASE_S, claimed, end_next, new_job, pass_s
from tests.service.accounts.conftest import NOON, Times

MONTH = "2026-11"
OPTIONS = TranslationOptions(
    DecodingOptions(beam_size=2, formality=Formality.FORMAL, sampling=None),
    "m",
    PlaceholderMode.OFF,
    OnFailure.EMPTY,
    ReviewMarks.CONFIDENCE,
)


def add(
    store: JobStore, key_id: str | None = None, limit: int | None = None, *, is_document: bool = False
) -> Job:
    return store.add(new_job(store, key_id, is_document=is_document), limit)


@pytest.fixture
def key_id(new_key_id: Iterator[str]) -> str:
    return next(new_key_id)


def used(database: Database, key_id: str) -> Usage:
    return UsageStore(database).get_month(key_id, MONTH)


def test_a_job_is_read_as_it_was_added(store: JobStore) -> None:
    job_request = JobRequest("ü.csv", None, "en", OPTIONS, ("title", "2"))
    added = store.add(NewJob("0" * 32, None, job_request, 5, 6, 7))

    assert store.get(None, "0" * 32) == added
    assert added.job_request == job_request
    assert (added.state, added.num_entries, added.num_characters) == (JobState.QUEUED, 6, 7)


def test_simultaneous_claims_never_return_the_same_job(any_url: str, store: JobStore) -> None:
    ids = {add(store).id for _ in range(20)}

    def claim_all(number: int) -> list[str]:
        other = Database.open(any_url)
        found: list[str] = []
        while (job := JobStore(other, clock=store.clock).claim(f"{number}-{len(found)}")) is not None:
            found.append(job.id)
        other.close()
        return found

    with ThreadPoolExecutor(4) as threads:
        found = [job_id for each in threads.map(claim_all, range(4)) for job_id in each]

    assert sorted(found) == sorted(ids)


def test_a_job_can_be_claimed_when_its_lease_has_expired(store: JobStore, times: Times) -> None:
    job_id = add(store).id
    claimed(store, "first")
    pass_s(times, LEASE_S - 1)
    assert store.claim("second") is None

    pass_s(times, 1)
    assert claimed(store, "second").id == job_id
    with pytest.raises(LeaseLost):
        store.beat(job_id, "first", RunProgress(1, 0))
    with pytest.raises(LeaseLost):
        store.end(store.get(None, job_id), "first", JobOutcome(JobState.DONE))
    assert store.get(None, job_id).state is JobState.RUNNING


def test_a_heartbeat_renews_the_lease(store: JobStore, times: Times) -> None:
    job_id = add(store).id
    claimed(store, "first")
    for num_done in range(5):
        pass_s(times, LEASE_S - 1)
        assert store.beat(job_id, "first", RunProgress(num_done, 0, 2.0)) is False
    assert store.claim("second") is None

    job = store.get(None, job_id)
    assert (job.num_done, job.time_left_s) == (4, 3.0)


def test_progress_does_not_decrease_when_another_worker_takes_over(store: JobStore, times: Times) -> None:
    job_id = add(store).id
    claimed(store, "first")
    store.beat(job_id, "first", RunProgress(7, 2))
    pass_s(times, LEASE_S)
    claimed(store, "second")
    store.beat(job_id, "second", RunProgress(3, 1))

    job = store.get(None, job_id)
    assert (job.num_done, job.num_failed) == (7, 2)


def test_attempts_without_progress_are_counted_and_progress_resets_the_count(
    store: JobStore, times: Times
) -> None:
    job = add(store)
    for death in range(MAX_SETBACKS):
        claimed(store, f"worker{death}")
        pass_s(times, LEASE_S)
    claimed(store, "last")
    assert store.has_too_many_setbacks(job)

    store.beat(job.id, "last", RunProgress(1, 0))
    assert not store.has_too_many_setbacks(job)


def test_a_released_job_can_be_claimed_at_once(store: JobStore) -> None:
    job = add(store)
    claimed(store, "first")
    store.release(job.id, "another")
    assert store.claim("second") is None

    store.release(job.id, "first")
    assert claimed(store, "second").id == job.id
    assert not store.has_too_many_setbacks(job)
    store.release(job.id, "second", num_setbacks=MAX_SETBACKS)
    assert store.has_too_many_setbacks(job)


def test_a_job_is_charged_with_its_document_or_not_added(
    store: JobStore, database: Database, key_id: str
) -> None:
    add(store, key_id, limit=100)
    with pytest.raises(QuotaExceeded):
        add(store, key_id, limit=100)

    assert used(database, key_id) == Usage(MONTH, 80, 1, 1)
    assert len(store.page(key_id, 10)) == 1


def test_untranslated_characters_are_refunded_once(store: JobStore, database: Database, key_id: str) -> None:
    add(store, key_id)
    job = claimed(store)
    store.end(job, "worker", JobOutcome(JobState.FAILED, problem="why", refund_characters=50))
    with pytest.raises(LeaseLost):
        store.end(job, "worker", JobOutcome(JobState.FAILED, problem="why", refund_characters=50))

    assert used(database, key_id) == Usage(MONTH, 30, 1, 0)
    assert store.get(key_id, job.id).problem == "why"


def test_a_queued_job_is_cancelled_at_once_and_refunded(
    store: JobStore, database: Database, key_id: str
) -> None:
    job = add(store, key_id)
    for _ in range(2):
        assert store.cancel(job).state is JobState.CANCELLED

    assert used(database, key_id) == Usage(MONTH, 0, 1, 0)
    assert store.claim("worker") is None
    with database.reading() as connection:  # its file is removed
        assert connection.execute(select(JOBS.c.input_size_bytes)).scalar_one() == 0


def test_a_heartbeat_reports_that_the_job_is_being_cancelled(store: JobStore) -> None:
    job_id = add(store).id
    claimed(store)
    reported = store.cancel(store.get(None, job_id))

    assert (reported.state, reported.is_cancelling) == (JobState.RUNNING, True)
    assert store.beat(job_id, "worker", RunProgress(0, 0)) is True


def test_a_job_that_has_not_ended_is_not_removed(store: JobStore, times: Times) -> None:
    job = add(store)
    with pytest.raises(UnknownJob):
        store.remove(job)
    pass_s(times, 10 * store.settings.job_lifetime_s)

    assert store.expired() == []
    assert store.get(None, job.id).id == job.id


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        '{"file_name": "a.txt"}',
        '{"file_name": "a.txt", "source": "de", "target": "en", "options": {"decoding": {"beam_size": 99}}}',
    ],
)
def test_an_unreadable_row_does_not_block_other_jobs(
    database: Database, store: JobStore, times: Times, damage: str
) -> None:
    damaged = add(store)
    pass_s(times, 1)
    other = add(store)
    with database.writing() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == damaged.id).values(request=damage))

    assert store.claim("first") is None
    assert claimed(store, "second").id == other.id


@pytest.fixture
def new_key_id(database: Database) -> Iterator[str]:
    return (KeyStore(database).create(KeyOptions("someone"), NOON).key.id for _ in range(10))


def test_the_key_with_the_fewest_running_jobs_is_next(
    store: JobStore, new_key_id: Iterator[str], times: Times
) -> None:
    many, few = next(new_key_id), next(new_key_id)
    ids = {}
    for key_id, number in ((many, 0), (many, 1), (None, 0), (many, 2), (few, 0), (None, 1), (few, 1)):
        ids[key_id, number] = add(store, key_id).id
        pass_s(times, 1)
    order = [claimed(store, str(number)).id for number in range(7)]

    expected = [(many, 0), (None, 0), (few, 0), (many, 1), (None, 1), (few, 1), (many, 2)]
    assert order == [ids[each] for each in expected]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    nums_jobs=st.lists(st.integers(1, 3), min_size=2, max_size=5),
    kind=st.sampled_from([ClaimKind.ANY, ClaimKind.FIRST_OF_KEY]),
)
def test_interrupted_jobs_give_each_key_its_turn(
    store: JobStore, database: Database, times: Times, nums_jobs: list[int], kind: ClaimKind
) -> None:
    with database.writing() as connection:
        connection.execute(delete(JOBS))
    keys = [KeyStore(database).create(KeyOptions("someone"), NOON).key.id for _ in nums_jobs]
    oldest = {key_id: add(store, key_id).id for key_id in keys}
    pass_s(times, 1)
    for key_id, num_jobs in zip(keys, nums_jobs, strict=True):
        for _ in range(num_jobs - 1):
            add(store, key_id)

    for _ in range(3):
        turns = dict[str | None, str]()
        for _ in keys:
            pass_s(times, 1)
            job = claimed(store, kind=kind)
            turns[job.key_id] = job.id
            store.release(job.id, "worker")
        assert turns == oldest


def test_workers_for_first_jobs_prefer_keys_of_which_none_has_begun(
    store: JobStore, new_key_id: Iterator[str], times: Times
) -> None:
    begun, new = next(new_key_id), next(new_key_id)
    for key_id in (begun, begun, new):
        add(store, key_id)
        pass_s(times, 1)
    store.release(claimed(store).id, "worker")
    pass_s(times, 1)

    assert claimed(store, "first", ClaimKind.FIRST_OF_KEY).key_id == new
    assert claimed(store, "second", ClaimKind.FIRST_OF_KEY).key_id == begun


@pytest.mark.parametrize(
    ("kind", "waits"),
    [
        (ClaimKind.ANY, {"new": True, "interrupted": True, "running": False}),
        (ClaimKind.DOCUMENTS, {"new": True, "interrupted": True, "running": False}),
        (ClaimKind.FIRST_OF_KEY, {"new": True, "interrupted": False, "running": False}),
    ],
)
def test_a_job_waits_for_a_worker_unless_its_key_has_a_turn(
    store: JobStore, new_key_id: Iterator[str], times: Times, kind: ClaimKind, waits: dict[str, bool]
) -> None:
    for state, is_waiting in waits.items():
        key_id = next(new_key_id)
        begun = None
        if state != "new":
            add(store, key_id)
            begun = claimed(store)
        if begun is not None and state == "interrupted":
            store.release(begun.id, "worker")
        document = add(store, key_id, is_document=True)
        pass_s(times, 5)

        assert not store.is_job_waiting(kind, 6)
        assert store.is_job_waiting(kind, 5) is is_waiting
        for unfinished in (*store.page(key_id, 9), document):
            store.cancel(unfinished)
        if begun is not None and state == "running":
            store.end(begun, "worker", JobOutcome(JobState.CANCELLED))


def test_jobs_with_an_expired_lease_do_not_count_as_running(
    store: JobStore, new_key_id: Iterator[str], times: Times
) -> None:
    one, other = next(new_key_id), next(new_key_id)
    left = add(store, one)
    claimed(store, "silent")
    pass_s(times, LEASE_S)
    add(store, other)

    assert claimed(store, "next").id == left.id


def test_document_workers_claim_only_documents(store: JobStore) -> None:
    job = add(store)
    assert store.claim("for documents", ClaimKind.DOCUMENTS) is None
    document = add(store, is_document=True)

    assert claimed(store, "for documents", ClaimKind.DOCUMENTS).id == document.id
    assert claimed(store, "for any").id == job.id


def test_workers_for_first_jobs_claim_none_of_a_key_that_has_one_running(
    store: JobStore, key_id: str, times: Times
) -> None:
    for _ in range(3):
        add(store)
    first = claimed(store, "first", ClaimKind.FIRST_OF_KEY)
    assert store.claim("second", ClaimKind.FIRST_OF_KEY) is None

    of_key = add(store, key_id)
    assert claimed(store, "second", ClaimKind.FIRST_OF_KEY).id == of_key.id
    assert store.claim("third", ClaimKind.FIRST_OF_KEY) is None
    pass_s(times, 2 * LEASE_S)  # both workers are silent
    found = [claimed(store, worker, ClaimKind.FIRST_OF_KEY).key_id for worker in ("third", "fourth")]
    assert set(found) == {first.key_id, of_key.key_id}


def test_documents_and_jobs_have_separate_limits(database: Database, store: JobStore) -> None:
    few = JobStore(database, Settings(max_jobs_of_key=1), store.clock)
    for is_document in (False, True):
        add(few, is_document=is_document)
        with pytest.raises(TooManyJobs):
            add(few, is_document=is_document)


def test_a_document_expires_after_its_lifetime_or_when_cancelled(store: JobStore, times: Times) -> None:
    kept, given_up = add(store, is_document=True), add(store, is_document=True)
    assert store.cancel(given_up).state is JobState.CANCELLED
    assert [job.id for job in store.expired()] == [given_up.id]
    with pytest.raises(UnknownJob):
        store.get_document(given_up.id)
    end_next(store, StoredFile("r", 1, "s"))
    pass_s(times, store.settings.document_lifetime_s - 1)
    assert store.get_document(kept.id).state is JobState.DONE

    pass_s(times, 1)
    with pytest.raises(UnknownJob):
        store.get_document(kept.id)
    assert len(store.expired()) == 2


def test_a_job_added_as_ended_costs_only_storage(
    database: Database, store: JobStore, new_key_id: Iterator[str]
) -> None:
    small = JobStore(database, Settings(max_jobs_bytes=300), store.clock)
    key_id, outcome = next(new_key_id), JobOutcome(JobState.DONE, result=StoredFile("r", 200, "s"))

    done = small.add_ended(new_job(small, key_id), outcome)
    assert (done.state, done.result) == (JobState.DONE, StoredFile("r", 200, "s"))
    assert UsageStore(database).get_month(key_id, MONTH).requests == 0
    assert store.claim("worker") is None
    with pytest.raises(JobsFull):
        small.add_ended(new_job(small, key_id), outcome)


def test_unfinished_jobs_are_filtered_from_many_ids(store: JobStore) -> None:
    jobs = [add(store) for _ in range(3)]
    store.cancel(jobs[0])
    ids = {job.id for job in jobs} | {f"{number:032}" for number in range(2000)}

    assert store.filter_unfinished(ids) == {jobs[1].id, jobs[2].id}
    assert store.known(ids) == {job.id for job in jobs}


@pytest.mark.parametrize("jump_s", [-86_400.0, 3600.0])
def test_a_jump_of_the_clock_loses_no_job(store: JobStore, times: Times, jump_s: float) -> None:
    added = {add(store).id for _ in range(2)}
    running = claimed(store, "first").id
    pass_s(times, jump_s)

    store.beat(running, "first", RunProgress(1, 0))  # nobody has taken it over yet
    added.add(add(store).id)
    assert {claimed(store, worker).id for worker in ("second", "third")} == added - {running}
    pass_s(times, LEASE_S + 1)
    assert {claimed(store, worker).id for worker in ("fourth", "fifth", "sixth")} == added
