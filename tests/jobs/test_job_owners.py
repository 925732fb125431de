"""Jobs belong to the key they were sent with, which is charged for what was translated."""

import httpx

from tests.jobs.conftest import ServeJobs, ended, look, post, run_job, send, used
from tests.routing.doubles import until
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys


def with_key(client: httpx.Client, keys: Keys, **limits: int) -> httpx.Client:
    client.headers.update(keys.bearer(**limits))
    return client


def test_a_caller_cannot_see_jobs_of_other_callers(serve_double: ServeJobs, keys: Keys) -> None:
    client = serve_double(requires_key=True)
    one, other = keys.bearer(), keys.bearer()
    client.headers.update(one)
    job_id = run_job(client, b"x\n")["id"]

    client.headers.update(other)
    assert client.get("/v1/jobs").json()["jobs"] == []
    for path in ("", "/result", "/errors", "/events"):
        assert client.get(f"/v1/jobs/{job_id}{path}").status_code == 404
    assert client.delete(f"/v1/jobs/{job_id}").status_code == 404
    client.headers.update(one)
    assert look(client, job_id)["state"] == "done"


def test_a_file_over_the_quota_is_rejected_and_removed(serve_double: ServeJobs, keys: Keys) -> None:
    client = serve_double(requires_key=True)
    with_key(client, keys, characters_per_month=10)
    response = post(client, b"x" * 11)
    assert (response.status_code, response.json()["error"]["type"]) == (429, "quota_exceeded")
    assert client.get("/v1/jobs").json()["jobs"] == []

    run_job(client, b"x" * 10)
    assert used(keys, client) == (10, 1)


def test_failed_entries_are_not_charged(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(requires_key=True), keys)
    run_job(client, b"eins\nunusable\neins\n")

    assert used(keys, client) == (8, 1)


def test_a_running_job_can_be_cancelled_and_is_charged_for_its_translated_part(
    serve_double: ServeJobs, keys: Keys
) -> None:
    client = with_key(serve_double(requires_key=True), keys)
    job = send(client, b"first\n" + b"".join(b"slow %04d\n" % number for number in range(1000)))
    until(lambda: look(client, job["id"])["progress"]["done"] >= 1)
    cancelling = client.delete(f"/v1/jobs/{job['id']}")
    assert (cancelling.status_code, cancelling.json()["is_cancelling"]) == (202, True)
    cancelled = ended(client, job["id"])
    assert (cancelled["state"], cancelled["result"]) == ("cancelled", None)
    assert client.get(f"/v1/jobs/{job['id']}/result").status_code == 404

    characters, documents = used(keys, client)
    assert documents == 0
    assert 5 <= characters < job["progress"]["characters"]
    assert (characters - 5) % len("slow 0000") == 0


def test_a_key_cannot_exceed_its_number_of_unfinished_jobs(serve_double: ServeJobs) -> None:
    client = serve_double(jobs_at_a_time=0, max_jobs_of_key=1)
    job = send(client, b"x\n")
    refused = post(client, b"x\n")
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "overloaded")
    assert int(refused.headers["retry-after"]) > 0

    client.delete(f"/v1/jobs/{job['id']}")
    send(client, b"x\n")


def test_a_key_whose_jobs_never_end_delays_no_job_of_another(
    serve_double: ServeJobs, double: DoubleTranslator, keys: Keys
) -> None:
    client = serve_double(jobs_at_a_time=2)
    client.headers.update(keys.bearer())
    hostile = [send(client, b"wait\n") for _ in range(6)]
    until(lambda: sum(look(client, job["id"])["state"] == "running" for job in hostile) >= 2)

    client.headers.update(keys.bearer())
    assert run_job(client, b"ein haus\n")["state"] == "done"

    double.released.set()
