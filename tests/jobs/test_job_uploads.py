"""A job's file and memory are looked at before it waits, and may cost no more than their limits."""

import gzip
import io
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import polib
import pytest

from service.formats import isolation
from service.formats.bilingual_xml import TmxFormat
from service.formats.entries import FileOptions
from tests.formats.rewriting import entries
from tests.jobs.conftest import (
    ServeJobs,
    ended,
    new_memory,
    post,
    problem_of,
    result_of,
    run_job,
    send,
    tmx,
    unit,
    used,
    with_key,
)
from tests.service.conftest import fields_of
from tests.service.keys import Keys

FORM = "multipart/form-data; boundary=b"
JSONL = {"Content-Type": "application/jsonl"}


def zip_bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("word/document.xml", bytes(300 * 2**20))
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert len(packed.getvalue()) < 2**20
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("letter.exe", b"x", ".docx"),
        ("a.txt", b"eins\nzw\x81ei\n", "line 2"),
        ("a.docx", b"no archive", ""),
        ("a.txt.gz", b"no gzip", ""),
        ("a.jsonl", b"{", ""),
        ("a.tmx", tmx(unit("fr", "chien")), "none of its 1 units has a segment in de"),
        ("a.docx", zip_bomb, "unpacks to"),
        ("a.txt.gz", lambda: gzip.compress(bytes(200 * 2**20)), "longer than"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_rejected_with_its_problem(
    shared: httpx.Client, name: str, content: bytes | Callable[[], bytes], problem: str
) -> None:
    response = post(shared, content if isinstance(content, bytes) else content(), name)

    assert fields_of(response) == ["file"]
    assert problem in problem_of(response)


def test_a_file_that_is_too_large_is_rejected_during_the_upload(serve_double: ServeJobs) -> None:
    client = serve_double(max_job_bytes=1000)
    assert post(client, b"x" * 1000).status_code == 202
    too_large = post(client, b"x" * 1001)
    assert (too_large.status_code, too_large.json()["error"]["type"]) == (413, "too_large")

    pieces = (b"x" * 2**16 for _ in range(100))
    endless = client.post("/v1/jobs?source=de&target=en", content=pieces, headers=JSONL)
    assert endless.status_code == 413


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"target": "tlh"}, "target"),
        ({"model": "gone"}, "model"),
        ({"on_failure": "explode"}, "on_failure"),
        ({"colour": "red"}, "colour"),
        ({"output_format": "docx"}, "output_format"),
        ({"placeholders": "yes"}, "placeholders"),
        ({"columns": ["x"] * 65}, "columns"),
        ({"source": ["de", "en"]}, "source"),
        ({"file_name": "a\0.txt"}, "file"),
    ],
)
def test_an_invalid_option_is_rejected_by_name(
    shared: httpx.Client, fields: dict[str, Any], named: str
) -> None:
    assert fields_of(post(shared, b"x\n", **fields)) == [named]


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415),
        (FORM, b"--b\r\n", 400),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx', 400),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="target"\r\n\r\nen\r\n--b--\r\n', 422),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + b"x" * 20000, 400),
    ],
)  # fmt: skip
def test_a_body_that_is_not_a_form_with_a_file_is_rejected(
    shared: httpx.Client, kind: str, body: bytes, status: int
) -> None:
    response = shared.post("/v1/jobs", content=body, headers={"Content-Type": kind})

    assert response.status_code == status, response.text


def test_a_text_that_cannot_be_interrupted_soon_is_rejected(serve_double: ServeJobs) -> None:
    refused = post(serve_double(file_isolation="on"), b"ein haus " * 112_000)
    assert "line 1: the text has 1,008,000 characters, more than 1,000,000; split it" in problem_of(refused)


def test_a_full_disk_for_temporary_files_is_no_fault_of_the_file(
    serve_double: ServeJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_MODULE", "tests.jobs.full_disk")
    refused = post(serve_double(file_isolation="on"), gzip.compress(bytes(2**20)), "a.docx.gz")

    assert (refused.status_code, refused.json()["error"]["type"]) == (503, "store_unavailable")
    assert int(refused.headers["retry-after"]) > 0


def test_a_rejected_file_is_removed(serve_double: ServeJobs, tmp_path: Path) -> None:
    client = serve_double(jobs_files=str(tmp_path / "kept"))
    for content, name in ((b"\x81", "a.txt"), (b"x", "a.exe"), (b"", "")):
        assert post(client, content, name).status_code in {400, 422}

    assert list((tmp_path / "kept").iterdir()) == []


def test_a_body_that_trickles_in_is_rejected(serve_double: ServeJobs) -> None:
    client = serve_double(client_timeout_s=0.5)
    pieces = iter(range(600))

    def trickle() -> Iterator[bytes]:
        for _ in pieces:
            time.sleep(0.05)
            yield b"{}\n"

    try:
        response = client.post("/v1/jobs?source=de&target=en", content=trickle(), headers=JSONL)
        assert response.status_code == 408
    except httpx.TransportError:  # it is refused while it is sent
        pass
    assert next(pieces, None) is not None


def test_a_fast_body_with_a_pause_is_accepted(serve_double: ServeJobs) -> None:
    client = serve_double(client_timeout_s=1)

    def pause() -> Iterator[bytes]:
        for _ in range(6):  # 2 s of bytes each time at the least rate
            time.sleep(0.25)
            yield b'{"text": "' + b"x" * 35_000 + b'"}\n'

    response = client.post("/v1/jobs?source=de&target=en", content=pause(), headers=JSONL)
    assert response.status_code == 202, response.text


PO = b"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "ja"
msgstr ""

msgid "warum"
msgstr ""
"""


def messages_of(client: httpx.Client, job: dict[str, Any]) -> polib.POFile:
    assert job["state"] == "done", job["problem"]
    return polib.pofile(result_of(client, job).text)


def test_exact_matches_are_used_and_marked(shared: httpx.Client) -> None:
    memory = new_memory(shared)

    job = run_job(shared, PO, "a.po", memory=memory, source="", target="")

    assert (job["memory"], job["review"], job["source"], job["target"]) == (memory, "mark", "de", "en")
    known, unknown = messages_of(shared, job)
    assert (known.msgstr, known.flags, known.tcomment) == ("yes", [], "dragoman, memory: exact")
    assert (unknown.msgstr, unknown.flags) == ("WARUM", ["fuzzy"])


def test_a_pair_with_other_numbers_is_used_and_left_to_reviewers(shared: httpx.Client) -> None:
    pair = {"source": "Seite 5 von 10", "target": "Page 5 of 10"}
    sent = {"name": "x", "source": "de", "target": "en", "pairs": [pair]}
    memory = shared.post("/v1/memories", json=sent).json()["id"]
    content = PO.replace(b"warum", b"Seite 7 von 10")

    job = run_job(shared, content, "a.po", memory=memory, memory_threshold="75", source="", target="")
    exact = run_job(shared, content, "a.po", memory=memory, source="", target="")

    [_, repaired], [_, other] = messages_of(shared, job), messages_of(shared, exact)
    assert (repaired.msgstr, repaired.flags) == ("Page 7 of 10", ["fuzzy"])
    assert other.msgstr == "SEITE 7 VON 10"


@pytest.mark.parametrize(
    ("review", "flags", "comment"),
    [("mark", ["fuzzy"], ""), ("confidence", ["fuzzy"], "dragoman, confidence: "), ("off", [], "")],
)
def test_a_job_chooses_its_marks(shared: httpx.Client, review: str, flags: list[str], comment: str) -> None:
    job = run_job(shared, PO, "a.po", review=review)

    assert job["review"] == review
    for entry in messages_of(shared, job):
        assert entry.flags == flags
        assert entry.tcomment.startswith(comment)
        assert bool(entry.tcomment) is bool(comment)


def test_unfitting_options_of_a_job_are_rejected(shared: httpx.Client) -> None:
    french = new_memory(shared, "fr")
    for fields, status, problem in (
        ({"review": "yes"}, 422, "review: must be one of mark, confidence, off"),
        ({"memory": "nothing"}, 404, "memory 'nothing' not found"),
        ({"memory": french}, 422, "source: is de, but the memory is for fr -> en; use another one"),
    ):
        response = post(shared, PO, "a.po", **fields)
        assert (response.status_code, problem_of(response)) == (status, problem)


def test_a_memory_of_another_key_is_not_found(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(), keys)
    memory = new_memory(client)
    assert post(client, PO, "a.po", memory=memory).status_code == 202

    assert post(with_key(client, keys), PO, "a.po", memory=memory).status_code == 404


GERMAN = "Der Hund rennt durch den Garten und die Kinder lachen."
UNLABELLED = '<tu><tuv xml:lang="und"><seg>a</seg></tuv><tuv xml:lang="en"><seg>b</seg></tuv></tu>'


@pytest.mark.parametrize("others", ["", UNLABELLED, unit("fr", "chien")])
@pytest.mark.parametrize("name", ["a.tmx", "a.TMX"])
def test_a_translation_memory_is_charged_for_its_translated_text(
    serve_double: ServeJobs, keys: Keys, others: str, name: str
) -> None:
    client = with_key(serve_double(), keys)
    job = send(client, tmx(others + unit("de-AT", "eins") + unit("de", "zwei!")), name)

    assert used(keys, client) == (len("einszwei!"), 1)
    assert job["progress"]["entries"] == 2
    done = ended(client, job["id"])
    assert (done["state"], done["progress"]["done"]) == ("done", 2)
    assert b"EINS" in result_of(client, job).content
    assert used(keys, client) == (len("einszwei!"), 1)


def test_the_source_language_is_read_from_a_translation_memory(serve_jobs: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_jobs(detection="on"), keys)
    content = tmx(unit("fr", "Le chien court dans le jardin.") + unit("de-DE", GERMAN), "de-DE")
    job = send(client, content, "a.tmx", source="auto")

    assert used(keys, client) == (len(GERMAN), 1)
    assert job["source"] == "de"
    assert ended(client, job["id"])["state"] == "done"


@pytest.mark.parametrize(
    ("srclang", "found"), [("de", ["eins"]), ("fr-CA", ["chien"]), ("*all*", ["chien", "eins"])]
)
def test_segments_in_the_language_that_the_header_names_are_read(srclang: str, found: list[str]) -> None:
    content = tmx(unit("fr-ca", "chien") + unit("de", "eins"), srclang)

    assert [entry.text for entry in entries(TmxFormat(FileOptions("und", "en")), content)] == found
