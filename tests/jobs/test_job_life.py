"""A job over HTTP, from its file to its end."""

import hashlib
import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman import Priority
from service.formats.registry import open_format
from service.settings.settings import SettingsError
from tests.engine.routing.doubles import until
from tests.formats.pdf_samples import drawn
from tests.formats.rewriting import OPTIONS, texts
from tests.jobs.conftest import ServeJobs, ended, post, problem_of, result_of, run_job, send, used, with_key
from tests.postgres import Postgres
from tests.service.conftest import fields_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys, id_of
from tests.service.openapi.documented import events_of

LINES = b"ein haus\nunusable\n\nzwei\nein haus\n"
PDF = drawn([[(70, 700, "ein haus")]])


def test_a_job_reports_its_options_and_progress(shared: httpx.Client) -> None:
    response = post(shared, LINES, "letter.txt")
    job = response.json()

    assert response.status_code == 202
    assert response.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["file_name"], job["source"], job["target"]) == ("letter.txt", "de", "en")
    assert (job["progress"]["entries"], job["progress"]["characters"]) == (4, 8 + 8 + 4 + 8)

    done = ended(shared, job["id"])
    progress = done["progress"]
    assert (progress["done"], progress["failed"], progress["time_left_s"]) == (4, 1, None)
    content = result_of(shared, job).content
    digest = hashlib.sha256(content).hexdigest()
    assert done["result"] == {"file_name": "letter.txt", "size_bytes": len(content), "sha256": digest}


@pytest.mark.parametrize(
    ("name", "fields", "lines"),
    [
        ("brief.docx", {}, ["EIN HAUS"]),
        ("brief.txt", {"output_format": "txt"}, ["EIN HAUS", ""]),
        ("a.txt", {"placeholders": "auto"}, ["HALLO {name}", "unusable", ""]),
        ("a.txt", {"placeholders": "off"}, ["HALLO {NAME}", "unusable", ""]),
        ("a.txt", {"on_failure": "empty"}, ["HALLO {name}", "", ""]),
    ],
)
def test_an_option_of_a_job_is_used_and_reported(
    shared: httpx.Client, name: str, fields: dict[str, str], lines: list[str]
) -> None:
    sent = ("brief.pdf", PDF) if name.startswith("brief") else (name, b"Hallo {name}\nunusable\n")
    job = run_job(shared, sent[1], sent[0], **fields)

    got = result_of(shared, job)

    assert {option: job[option] for option in fields} == fields
    assert job["result"]["file_name"] == name
    assert got.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
    is_text = name.endswith(".txt")
    assert lines == (got.text.split("\n") if is_text else texts(open_format(name, OPTIONS), got.content))


def test_a_failed_entry_keeps_its_position_and_is_reported(shared: httpx.Client) -> None:
    job = run_job(shared, LINES)
    assert result_of(shared, job).content == b"EIN HAUS\nunusable\n\nZWEI\nEIN HAUS\n"

    reported = shared.get(f"/v1/jobs/{job['id']}/errors")
    assert reported.headers["content-type"] == "application/jsonl"
    assert [json.loads(line) for line in reported.text.splitlines()] == [
        {
            "file": "a.txt",
            "place": "line 2",
            "outcome": "untranslated",
            "problem": "is not usable",
            "text": "unusable",
        }
    ]


def test_json_lines_can_be_sent_as_the_request_body(shared: httpx.Client) -> None:
    body = b'{"id": 1, "title": "eins", "text": "zwei"}\n{"id": 2, "title": "drei", "text": "vier"}\n'
    for kind in ("application/x-ndjson", "application/jsonl; charset=utf-8"):
        response = shared.post(
            "/v1/jobs?source=de&target=en&columns=title", content=body, headers={"Content-Type": kind}
        )
        assert response.status_code == 202, response.text
        job = ended(shared, response.json()["id"])
        texts = [json.loads(line) for line in result_of(shared, job).text.splitlines()]
        assert texts == [
            {"id": 1, "title": "EINS", "text": "zwei"},
            {"id": 2, "title": "DREI", "text": "vier"},
        ]


def test_texts_of_a_job_have_job_priority_and_count_for_its_key_and_its_journal_ends_with_it(
    serve_double: ServeJobs, double: DoubleTranslator, keys: Keys
) -> None:
    client, key = serve_double(), keys.make()
    client.headers["Authorization"] = f"Bearer {key}"
    run_job(client, b"eins\nzwei\neins\neins\n")

    priorities = [request.priority for request in double.requests]
    assert priorities == [Priority.INTERACTIVE, Priority.JOB]  # the warm-up, and the job
    assert [flow.owner for flow in [double.requests[-1].flow] if flow is not None] == [id_of(key)]
    # A journal outlives its job no longer than the job is worked on.
    assert run_job(client, b"eins\n")["progress"]["done"] == 1


def test_a_result_can_be_downloaded_in_ranges(shared: httpx.Client) -> None:
    job = run_job(shared, b"abcdefghij\n")
    whole = result_of(shared, job)
    etag = f'"{job["result"]["sha256"]}"'
    assert (whole.headers["etag"], whole.headers["accept-ranges"]) == (etag, "bytes")

    part = result_of(shared, job, Range="bytes=2-4")
    assert (part.status_code, part.content) == (206, b"CDE")
    assert part.headers["content-range"] == "bytes 2-4/11"
    assert result_of(shared, job, Range="bytes=-3").content == b"IJ\n"
    assert result_of(shared, job, Range="bytes=9-").content == b"J\n"
    assert result_of(shared, job, Range="bytes=9-", **{"If-Range": '"other"'}).status_code == 200
    assert result_of(shared, job, **{"If-None-Match": f'"other", {etag}'}).status_code == 304
    beyond = result_of(shared, job, Range="bytes=11-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */11")


def test_a_result_cannot_be_rendered_as_a_page_of_the_server(shared: httpx.Client) -> None:
    job = run_job(shared, b"x\n", 'ü"\\evil/../name.txt')
    headers = result_of(shared, job).headers

    assert headers["content-disposition"] == "attachment; filename*=UTF-8''name.txt"
    assert headers["x-content-type-options"] == "nosniff"


def test_events_report_progress_and_the_end(serve_double: ServeJobs, double: DoubleTranslator) -> None:
    client = serve_double()
    job = send(client, b"wait\nmore\n")
    until(double.is_waiting.is_set)
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = ""
        for piece in stream.iter_text():
            double.released.set()
            text += piece
    events = [(event["event"], json.loads(event["data"])) for event in events_of(text)]

    assert [name for name, _ in events[:-1]] == ["progress"] * (len(events) - 1)
    assert events[0][1]["state"] == "running"
    assert (events[-1][0], events[-1][1]["state"]) == ("end", "done")


def test_a_key_leaves_as_many_event_streams_to_others_as_it_has(
    serve_double: ServeJobs, double: DoubleTranslator, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.native.jobs.routes.MAX_STREAMS", 4)
    client = serve_double()
    statuses, pieces = [], []
    with ExitStack() as streams:
        for count in (3, 1):
            job = send(with_key(client, keys), b"wait\n")
            for _ in range(count):
                stream = streams.enter_context(client.stream("GET", f"/v1/jobs/{job['id']}/events"))
                statuses.append(stream.status_code)
                if stream.is_success:
                    pieces.append(stream.iter_raw())
                    next(pieces[-1])
        double.released.set()
    assert statuses == [200, 200, 429, 200]


def test_requesting_an_unfinished_result_is_a_conflict(
    serve_double: ServeJobs, double: DoubleTranslator
) -> None:
    client = serve_double()
    job = send(client, b"wait\n")
    until(double.is_waiting.is_set)
    for what in ("result", "errors"):
        response = client.get(f"/v1/jobs/{job['id']}/{what}")
        assert (response.status_code, response.json()["error"]["type"]) == (409, "conflict")


def test_only_the_result_of_an_ended_job_is_kept_until_it_is_deleted(
    serve_double: ServeJobs, tmp_path: Path
) -> None:
    client, folder = serve_double(), tmp_path / "dragoman-jobs"
    job = run_job(client, b"eins\n")
    until(lambda: not (folder / job["id"] / "input").exists())
    assert [path.read_bytes() for path in (folder / job["id"]).iterdir()] == [b"EINS\n"]

    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert client.get(f"/v1/jobs/{job['id']}").status_code == 404
    assert list(folder.iterdir()) == []


def test_jobs_are_listed_in_pages_newest_first(serve_double: ServeJobs) -> None:
    client = serve_double(jobs_at_a_time=0)
    ids = [send(client, b"eins\n")["id"] for _ in range(5)]
    found: list[str] = []
    wanted: dict[str, Any] = {"limit": 2}
    while True:
        page = client.get("/v1/jobs", params=wanted).json()
        assert len(page["jobs"]) <= 2
        found += [job["id"] for job in page["jobs"]]
        if page["next_cursor"] is None:
            break
        wanted["cursor"] = page["next_cursor"]

    assert found == sorted(ids, reverse=True)
    none = client.get("/v1/jobs?state=done").json()
    assert (none["jobs"], none["next_cursor"]) == ([], None)


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=a", "state=gone", "page=2"])
def test_invalid_page_parameters_are_rejected(shared: httpx.Client, query: str) -> None:
    response = shared.get(f"/v1/jobs?{query}")

    assert fields_of(response) == [query.partition("=")[0]]


def test_a_missing_source_language_is_detected_from_the_file(serve_jobs: ServeJobs) -> None:
    client = serve_jobs(detection="on")
    german = "Der Hund rennt durch den Garten und die Kinder lachen darüber.\n"
    english = "The dog is running through the garden while the children laugh.\n"
    translated = run_job(client, german.encode(), source="auto")
    unchanged = run_job(client, english.encode(), source="")

    assert (translated["source"], unchanged["source"]) == ("de", "en")
    assert result_of(client, translated).text != german
    assert result_of(client, unchanged).text == english


def test_a_server_without_jobs_has_no_routes_for_them(serve_double: ServeJobs) -> None:
    assert problem_of(post(serve_double(jobs="off"), b"x")) == "Not Found"


def test_postgresql_requires_a_location_of_job_files(
    serve_double: ServeJobs, postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.new_database()
    assert serve_double(database_url=url).get("/v1/jobs").status_code == 404
    with pytest.raises(SettingsError, match="jobs_files"):
        serve_double(database_url=url, jobs="on")

    client = serve_double(database_url=url, jobs_files=str(tmp_path / "files"))
    assert run_job(client, b"eins\n")["state"] == "done"


def test_jobs_survive_a_restart(serve_double: ServeJobs, serve_jobs: ServeJobs) -> None:
    job = send(serve_double(jobs_at_a_time=0), b"ein haus\n")

    assert ended(serve_jobs(), job["id"])["state"] == "done"


def test_cancelling_a_job_interrupts_the_work_on_a_long_text(serve_jobs: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_jobs(), keys)
    job = send(client, b"Das ist ein Haus. " * 10_000)
    until(lambda: re.search("dragoman_segments_running [1-9]", client.get("/metrics").text))
    client.delete(f"/v1/jobs/{job['id']}")

    assert ended(client, job["id"])["state"] == "cancelled"
    assert used(keys, client) == (0, 0)  # it was not translated to its end
