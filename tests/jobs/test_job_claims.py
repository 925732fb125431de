"""Whose job is the next, and what is a document's own, in databases of both kinds."""

from collections.abc import Iterator

import pytest

from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.accounts.usage import UsageStore
from service.jobs.documents import new_document_key
from service.jobs.errors import JobsFull, TooManyJobs, UnknownJob
from service.jobs.job import (
    ClaimKind,
    Job,
    JobLimits,
    JobOutcome,
    JobState,
    StoredFile,
)
from service.jobs.store import JobStore
from tests.accounts.conftest import NOON, Times
from tests.jobs.conftest import LEASE_S, claimed, end_next, new_job, pass_s

MONTH = "2026-11"


def add(store: JobStore, key_id: str | None = None, document_key: str | None = None) -> Job:
    return store.add(new_job(store, key_id, source=None, document_key=document_key))


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
    document = add(store, document_key=new_document_key())

    assert claimed(store, "for documents", ClaimKind.DOCUMENTS).id == document.id
    assert claimed(store, "for any").id == job.id


def test_documents_and_jobs_have_separate_limits(database: Database, store: JobStore) -> None:
    few = JobStore(database, JobLimits(max_jobs_of_key=1), store.clock)
    for document_key in (None, new_document_key()):
        add(few, document_key=document_key)
        with pytest.raises(TooManyJobs):
            add(few, document_key=document_key)


def test_a_document_expires_after_its_lifetime_or_when_cancelled(store: JobStore, times: Times) -> None:
    kept, given_up = add(store, document_key=new_document_key()), add(store, document_key=new_document_key())
    assert store.cancel(given_up).state is JobState.CANCELLED
    assert [job.id for job in store.expired()] == [given_up.id]
    with pytest.raises(UnknownJob):
        store.get_document(given_up.id)
    end_next(store, StoredFile("r", 1, "s"))
    pass_s(times, store.limits.document_lifetime_s - 1)
    assert store.get_document(kept.id).state is JobState.DONE

    pass_s(times, 1)
    with pytest.raises(UnknownJob):
        store.get_document(kept.id)
    assert len(store.expired()) == 2


def test_a_job_added_as_ended_costs_only_storage(
    database: Database, store: JobStore, new_key_id: Iterator[str]
) -> None:
    small = JobStore(database, JobLimits(max_bytes=300), store.clock)
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
