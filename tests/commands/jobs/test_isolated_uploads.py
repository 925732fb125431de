"""Files of jobs that processes of their own read, whose memory is limited."""

import gzip
from pathlib import Path

from tests.jobs.conftest import ServeJobs, ended, new_memory, post, problem_of, run_job, send
from tests.service.conftest import ALL_APIS

MEMORY_BYTES = 2**27
MESSAGE = "exceeds the limit of 128 MiB of memory per file; split it into smaller files"
LARGE = "a.po", b'msgid "eins"\nmsgstr ""\n\n' + b"# x\n" * 1_500_000


def test_a_job_or_document_over_the_file_limit_is_rejected_and_the_next_one_succeeds(
    serve_double: ServeJobs,
) -> None:
    client = serve_double(
        apis=ALL_APIS, file_isolation="on", file_memory_bytes=MEMORY_BYTES, max_document_bytes=2**30
    )
    native = {"source": "de", "target": "en"}
    deepl = {"source_lang": "DE", "target_lang": "EN"}
    for path, fields, status in (
        ("/v1/jobs", native, 422),
        ("/translate_file", native, 400),
        ("/v2/document", deepl, 400),
    ):
        refused = client.post(path, files={"file": LARGE}, data=fields)
        assert (refused.status_code, MESSAGE in refused.text) == (status, True)

    assert run_job(client, b"eins\n")["state"] == "done"


def test_jobs_that_cannot_be_done_fail_with_their_problems_and_the_worker_continues(
    serve_double: ServeJobs, tmp_path: Path
) -> None:
    receiving = serve_double(jobs_at_a_time=0)
    memory = new_memory(receiving)
    large = send(receiving, LARGE[1], LARGE[0])
    without_file, without_memory = send(receiving, b"eins\n"), send(receiving, b"eins\n", memory=memory)
    small = send(receiving, b"eins\n")
    (tmp_path / "dragoman-jobs" / without_file["id"] / "input").unlink()
    receiving.delete(f"/v1/memories/{memory}")

    working = serve_double(file_isolation="on", file_memory_bytes=MEMORY_BYTES)

    for job, problem in (
        (large, MESSAGE),
        (without_file, "its file no longer exists"),
        (without_memory, f"memory: memory '{memory}' not found"),
    ):
        failed = ended(working, job["id"])
        assert (failed["state"], problem in failed["problem"]) == ("failed", True)
    assert ended(working, small["id"])["state"] == "done"


def test_a_compressed_file_has_the_limit_of_a_plain_one(serve_double: ServeJobs) -> None:
    client = serve_double(file_isolation="on", max_job_bytes=2**20, max_document_bytes=1000)
    content = gzip.compress(b"ein haus\n" * 2**17)

    assert "it unpacks to more than 1,048,576 bytes" in problem_of(post(client, content, "a.txt.gz"))
