"""Jobs in databases of both kinds: claimed by one worker at a time, ended once, charged for what was done."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.accounts.usage import Usage, UsageStore
from service.jobs.errors import JobsFull, LeaseLost, TooManyJobs, UnknownJob
from service.jobs.job import (
    MAX_SETBACKS,
    Job,
    JobLimits,
    JobOutcome,
    JobRequest,
    JobState,
    NewJob,
    RunProgress,
    StoredFile,
    WebhookState,
    new_job_id,
)
from service.jobs.store import JobStore
from service.jobs.tables import JOBS
from service.jobs.webhooks import WebhookQueue
from tests.accounts.conftest import NOON, Times
from tests.jobs.conftest import LEASE_S, claimed, pass_s

MONTH = "2026-11"


def add(store: JobStore, key_id: str | None = None, limit: int | None = None, webhook: bool = False) -> Job:  # noqa: FBT001, FBT002 -- a test's
    job_request = JobRequest("a.txt", "de", "en", webhook_url="https://example.com/" if webhook else None)
    now = store.clock.now()
    return store.add(NewJob(new_job_id(now), key_id, job_request, 100, 10, 80), limit)


@pytest.fixture
def key_id(database: Database) -> str:
    return KeyStore(database).create(KeyOptions("someone"), NOON).key.id


def used(database: Database, key_id: str) -> Usage:
    return UsageStore(database).get_month(key_id, MONTH)


def test_a_job_is_read_as_it_was_added(store: JobStore) -> None:
    job_request = JobRequest("ü.csv", None, "en", "m", ("title", "2"), webhook_url="https://example.com/?a=b")
    added = store.add(NewJob("0" * 32, None, job_request, 5, 6, 7))

    assert store.get(None, "0" * 32) == added
    assert added.job_request == job_request
    assert (added.state, added.num_entries, added.num_characters) == (JobState.QUEUED, 6, 7)


def test_jobs_are_claimed_in_order_of_arrival(store: JobStore, times: Times) -> None:
    ids = []
    for _ in range(3):
        ids.append(add(store).id)
        pass_s(times, 1)

    assert [claimed(store, str(worker)).id for worker in range(3)] == ids
    assert store.claim("another") is None


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

    assert (store.get(None, job_id).num_done, store.get(None, job_id).num_failed) == (7, 2)


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
    job = claimed(store, "worker")
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


def test_a_heartbeat_reports_that_the_job_is_being_cancelled(store: JobStore) -> None:
    job_id = add(store).id
    claimed(store, "worker")
    told = store.cancel(store.get(None, job_id))

    assert (told.state, told.is_cancelling) == (JobState.RUNNING, True)
    assert store.beat(job_id, "worker", RunProgress(0, 0)) is True


def test_a_key_sees_only_its_own_jobs(store: JobStore, key_id: str) -> None:
    mine, nobodys = add(store, key_id), add(store)

    assert [job.id for job in store.page(key_id, 10)] == [mine.id]
    assert [job.id for job in store.page(None, 10)] == [nobodys.id]
    with pytest.raises(UnknownJob):
        store.get(None, mine.id)
    assert store.get(key_id, mine.id).state is JobState.QUEUED


def test_the_number_of_unfinished_jobs_is_limited(database: Database, store: JobStore, key_id: str) -> None:
    few = JobStore(database, JobLimits(max_jobs_of_key=2), store.clock)
    add(few, key_id)
    claimed(few, "worker")
    add(few, key_id)

    with pytest.raises(TooManyJobs):
        add(few, key_id)
    add(few)  # another's


def test_the_number_of_stored_bytes_is_limited(database: Database, store: JobStore) -> None:
    small = JobStore(database, JobLimits(max_bytes=300), store.clock)
    job = add(small)  # 100 bytes, and as many for its result
    with pytest.raises(JobsFull):
        add(small)

    small.cancel(job)
    add(small)


def test_a_job_expires_after_its_lifetime(store: JobStore, times: Times) -> None:
    job = add(store)
    store.end(claimed(store, "worker"), "worker", JobOutcome(JobState.DONE, result=StoredFile("r", 1, "s")))
    pass_s(times, store.limits.lifetime_s - 1)
    assert store.expired() == []

    pass_s(times, 1)
    assert [each.id for each in store.expired()] == [job.id]
    store.remove(job)
    with pytest.raises(UnknownJob):
        store.remove(job)
    assert store.known([job.id]) == set()


def test_a_job_that_has_not_ended_is_not_removed(store: JobStore, times: Times) -> None:
    job = add(store)
    with pytest.raises(UnknownJob):
        store.remove(job)
    pass_s(times, 10 * store.limits.lifetime_s)

    assert store.expired() == []
    assert store.get(None, job.id).id == job.id


def test_a_webhook_is_claimed_by_one_worker_and_again_when_it_is_due(store: JobStore, times: Times) -> None:
    queue = WebhookQueue(store.database, store.clock)
    add(store, webhook=True)
    assert queue.claim(60) is None
    job = claimed(store, "worker")
    store.end(job, "worker", JobOutcome(JobState.DONE))

    first = queue.claim(60)
    assert first is not None
    assert first.webhook_tries == 1
    assert queue.claim(60) is None
    queue.retry(job.id, 5.0, "why")
    pass_s(times, 5)
    second = queue.claim(60)
    assert second is not None
    assert second.webhook_tries == 2
    queue.end(job.id, WebhookState.DELIVERED)
    pass_s(times, 3600)
    assert queue.claim(60) is None


def test_pages_of_jobs_are_complete_and_do_not_overlap(store: JobStore, times: Times) -> None:
    ids: list[str] = []
    for _ in range(5):
        ids.insert(0, add(store).id)
        pass_s(times, 1)

    first = store.page(None, 2)
    rest = store.page(None, 10, before=first[-1].id)
    assert [job.id for job in [*first, *rest]] == ids
    assert store.page(None, 10, state=JobState.DONE) == []


def test_a_cancelled_job_has_an_input_size_of_0(database: Database, store: JobStore) -> None:
    job = add(store)
    store.cancel(job)

    with database.reading() as connection:
        assert connection.execute(select(JOBS.c.input_size_bytes)).scalar_one() == 0


def test_webhooks_of_busy_keys_are_not_claimed(database: Database, store: JobStore, key_id: str) -> None:
    queue = WebhookQueue(database, store.clock)
    for key in (key_id, None):
        add(store, key, webhook=True)
        job = claimed(store, "worker")
        store.end(job, "worker", JobOutcome(JobState.DONE))

    assert queue.claim(60, [key_id, None]) is None
    first, second = queue.claim(60, [key_id]), queue.claim(60, [None])
    assert first is not None
    assert second is not None
    assert (first.key_id, second.key_id) == (None, key_id)


@pytest.mark.parametrize("column", ["on_failure", "columns"])
def test_an_unreadable_row_does_not_block_other_jobs(
    database: Database, store: JobStore, times: Times, column: str
) -> None:
    queue = WebhookQueue(database, store.clock)
    damaged = add(store, webhook=True)
    pass_s(times, 1)
    other = add(store, webhook=True)
    with database.writing() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == damaged.id).values({column: "{"}))

    assert store.claim("first") is None
    job = claimed(store, "second")
    assert job.id == other.id
    with database.writing() as connection:
        connection.execute(update(JOBS).values(webhook_due_at=times.now))
    found = [queue.claim(60), queue.claim(60)]
    assert [each.id for each in found if each is not None] == [other.id]
