"""What is sent in as a job's file is looked at before it waits."""

import gzip
import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.jobs.conftest import ServeJobs, post, problem_of

FORM = "multipart/form-data; boundary=b"


def refused(serve_double: ServeJobs, content: bytes, name: str, **settings: object) -> str:
    client = serve_double(jobs_at_a_time=0, **settings)
    response = post(client, content, name)
    assert response.status_code == 422, response.text
    assert [field["field"] for field in response.json()["error"]["fields"]] == ["file"]
    assert client.get("/v1/jobs").json()["jobs"] == []
    return problem_of(response)


def test_a_file_of_unknown_format_is_rejected(serve_double: ServeJobs) -> None:
    assert ".docx" in refused(serve_double, b"x", "letter.exe")


def test_a_file_that_is_not_utf_8_is_rejected_with_the_position(serve_double: ServeJobs) -> None:
    assert "line 2" in refused(serve_double, b"eins\nzw\xffei\n", "a.txt")


def test_a_file_that_does_not_match_its_name_is_rejected(serve_double: ServeJobs) -> None:
    refused(serve_double, b"no archive", "a.docx")
    refused(serve_double, b"no gzip", "a.txt.gz")
    refused(serve_double, b"{", "a.jsonl")


def test_a_zip_bomb_is_rejected(serve_double: ServeJobs) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(300):
                part.write(bytes(2**20))
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert len(packed.getvalue()) < 2**20

    refused(serve_double, packed.getvalue(), "a.docx")


def test_a_compression_bomb_is_rejected(serve_double: ServeJobs) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="w", compresslevel=9) as file:
        for _ in range(200):
            file.write(bytes(2**20))

    refused(serve_double, packed.getvalue(), "a.txt.gz")


def test_a_file_that_is_too_large_is_rejected_during_the_upload(serve_double: ServeJobs) -> None:
    client = serve_double(max_job_bytes=1000)
    assert post(client, b"x" * 1000).status_code == 202
    too_large = post(client, b"x" * 1001)
    assert (too_large.status_code, too_large.json()["error"]["type"]) == (413, "too_large")

    pieces = (b"x" * 2**16 for _ in range(100))
    headers = {"Content-Type": "application/jsonl"}
    endless = client.post("/v1/jobs?source=de&target=en", content=pieces, headers=headers)
    assert endless.status_code == 413


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"target": "tlh"}, "target"),
        ({"model": "gone"}, "model"),
        ({"on_failure": "explode"}, "on_failure"),
        ({"colour": "red"}, "colour"),
        ({"columns": ["x"] * 65}, "columns"),
        ({"source": ["de", "en"]}, "source"),
        ({"file_name": "a\0.txt"}, "file"),
        ({"webhook_url": "https://example.com/"}, "webhook_url"),  # no secret is set
    ],
)
def test_an_invalid_option_is_rejected_by_name(
    serve_double: ServeJobs, fields: dict[str, Any], named: str
) -> None:
    response = post(serve_double(jobs_at_a_time=0), b"x\n", **fields)

    assert response.status_code == 422, response.text
    assert [field["field"] for field in response.json()["error"]["fields"]] == [named]


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("", b"x", 415),
        ("multipart/form-data", b"x", 400),
        (FORM, b"", 400),
        (FORM, b"--b\r\n", 400),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx', 400),
        (FORM, b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", 400),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="target"\r\n\r\n\xff\r\n--b--\r\n', 400),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="target"\r\n\r\nen\r\n--b--\r\n', 422),
        (FORM, b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + b"x" * 20000, 400),
    ],
)  # fmt: skip
def test_a_body_that_is_not_a_form_with_a_file_is_rejected(
    serve_double: ServeJobs, kind: str, body: bytes, status: int
) -> None:
    response = serve_double().post("/v1/jobs", content=body, headers={"Content-Type": kind})

    assert response.status_code == status, response.text


def test_a_rejected_file_is_removed(serve_double: ServeJobs, tmp_path: Path) -> None:
    client = serve_double(jobs_files=str(tmp_path / "kept"))
    for content, name in ((b"\xff", "a.txt"), (b"x", "a.exe"), (b"", "")):
        assert post(client, content, name).status_code in {400, 422}

    assert list((tmp_path / "kept").iterdir()) == []


def test_a_body_that_trickles_in_is_rejected(serve_double: ServeJobs) -> None:
    client = serve_double(client_timeout_s=0.5)
    sent = 0

    def trickle() -> Iterator[bytes]:
        nonlocal sent
        while sent < 600:
            sent += 1
            time.sleep(0.05)
            yield b"{}\n"

    headers = {"Content-Type": "application/jsonl"}
    try:
        status = client.post("/v1/jobs?source=de&target=en", content=trickle(), headers=headers).status_code
    except httpx.TransportError:  # it is refused while it is sent
        status = 408
    assert status == 408
    assert sent < 600


def test_a_fast_body_with_a_pause_is_accepted(serve_double: ServeJobs) -> None:
    client = serve_double(client_timeout_s=2)
    line = b'{"text": "' + b"x" * 70_000 + b'"}\n'

    def pause() -> Iterator[bytes]:
        for _ in range(8):  # 4 s of bytes each time at the least rate
            time.sleep(0.4)
            yield line

    headers = {"Content-Type": "application/jsonl"}
    response = client.post("/v1/jobs?source=de&target=en", content=pause(), headers=headers)
    assert response.status_code == 202, response.text
