"""What a client's file costs to read is limited, and ends neither the server nor the work of others."""

import pytest

from tests.jobs.conftest import ServeJobs, ended, run_job, send
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


def test_a_job_over_the_workers_limits_fails_and_the_worker_continues(serve_double: ServeJobs) -> None:
    receiving = serve_double(jobs_at_a_time=0)
    name, content = LARGE
    large, small = send(receiving, content, name), send(receiving, b"eins\n")

    working = serve_double(file_isolation="on", file_memory_bytes=MEMORY_BYTES)

    job = ended(working, large["id"])
    assert job["state"] == "failed"
    assert MESSAGE in str(job)
    assert ended(working, small["id"])["state"] == "done"


def test_a_bug_in_a_parser_fails_the_job_and_the_worker_continues(
    serve_double: ServeJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("a bug")

    receiving = serve_double(jobs_at_a_time=0)
    with_bug, other = send(receiving, b"<p>eins</p>", "a.html"), send(receiving, b"eins\n")
    monkeypatch.setattr("service.formats.html.HtmlFormat.read", broken)

    working = serve_double()

    assert ended(working, with_bug["id"])["state"] == "failed"
    assert ended(working, other["id"])["state"] == "done"
