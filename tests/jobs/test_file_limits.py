"""What a client's file costs to read is limited, and ends neither the server nor the work of others."""

import httpx
import pytest

from tests.jobs.conftest import ServeJobs, ended, post, send

MEMORY_BYTES = 2**27
MESSAGE = "exceeds the limit of 128 MiB of memory per file; split it into smaller files"
LARGE = "a.po", b'msgid "eins"\nmsgstr ""\n\n# ' + b"x" * 50_000_000 + b"\n"


def _result(client: httpx.Client, job_id: str) -> str:
    return client.get(f"/v1/jobs/{job_id}/result").text


def test_a_job_over_the_file_limit_is_rejected_and_the_next_one_succeeds(serve_double: ServeJobs) -> None:
    client = serve_double(file_memory_bytes=MEMORY_BYTES)

    name, content = LARGE
    refused = post(client, content, name)
    small = send(client, b"eins\n")

    assert refused.status_code == 422
    assert MESSAGE in refused.json()["error"]["message"]
    assert ended(client, small["id"])["state"] == "done"
    assert _result(client, small["id"]) == "EINS\n"


def test_a_document_over_the_limit_is_rejected(serve_double: ServeJobs) -> None:
    client = serve_double(file_memory_bytes=MEMORY_BYTES, max_document_bytes=2**30)
    fields = {"source": "de", "target": "en"}

    translated = client.post("/translate_file", files={"file": LARGE}, data=fields)
    document = client.post(
        "/v2/document", files={"file": LARGE}, data={"source_lang": "DE", "target_lang": "EN"}
    )

    assert translated.status_code == document.status_code == 400
    assert MESSAGE in translated.text
    assert MESSAGE in document.text


def test_a_job_over_the_workers_limits_fails_and_the_worker_continues(serve_double: ServeJobs) -> None:
    receiving = serve_double(jobs_at_a_time=0)
    name, content = LARGE
    large, small = send(receiving, content, name), send(receiving, b"eins\n")

    working = serve_double(file_memory_bytes=MEMORY_BYTES)

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

    working = serve_double(file_isolation="off")

    assert ended(working, with_bug["id"])["state"] == "failed"
    assert ended(working, other["id"])["state"] == "done"
