"""Files of jobs in a folder and in a store of fsspec's alike."""

import os
import uuid
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from service.jobs.job_storage import BlobStore, open_blobs
from service.jobs.routes import RangeNotSatisfiable, requested_part
from service.settings import SettingsError

CONTENT = os.urandom(600_000)


@pytest.fixture(params=["folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    where = tmp_path / "files" if request.param == "folder" else f"memory://{uuid.uuid4().hex}/files"
    return open_blobs(str(where))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sent"
    path.write_bytes(CONTENT)
    return path


def test_a_blob_can_be_read_in_ranges_and_as_a_local_file(
    blobs: BlobStore, file: Path, tmp_path: Path
) -> None:
    blobs.put("job/input", file)

    for start, stop in ((0, len(CONTENT)), (5, 10), (262_143, 262_145), (7, 7)):
        assert b"".join(blobs.read("job/input", start, stop)) == CONTENT[start:stop]
    assert blobs.local("job/input", tmp_path).read_bytes() == CONTENT
    with pytest.raises(FileNotFoundError):
        blobs.local("job/other", tmp_path)


def test_removing_a_jobs_files_keeps_those_of_other_jobs(
    blobs: BlobStore, file: Path, tmp_path: Path
) -> None:
    for name in ("a/input", "a/result", "b/input"):
        blobs.put(name, file)
    assert sorted(blobs.jobs()) == ["a", "b"]

    for remove, name in ((blobs.remove_one, "a/input"), (blobs.remove, "a")):
        for _ in range(2):
            remove(name)
    assert blobs.jobs() == ["b"]
    assert blobs.local("b/input", tmp_path).read_bytes() == CONTENT


def test_a_blob_folder_is_readable_by_its_owner_only(tmp_path: Path, file: Path) -> None:
    open_blobs(str(tmp_path / "files")).put("job/input", file)

    assert (tmp_path / "files").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "files" / "job").iterdir()] == ["input"]


def test_a_blob_store_without_write_access_is_reported_at_startup(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise FileNotFoundError("the specified bucket does not exist")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", reject)
    with pytest.raises(SettingsError, match="bucket does not exist"):
        open_blobs("memory://missing/jobs")


def test_an_invalid_blob_location_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for where in (str(tmp_path / "file" / "folder"), "nosuchstore://bucket"):
        with pytest.raises(SettingsError, match="jobs_files"):
            open_blobs(where)


@given(st.binary(min_size=1, max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_a_range_header_selects_the_bytes(content: bytes, first: int, last: int) -> None:
    def part(spelt: str) -> bytes:
        found = requested_part(Headers({"range": spelt}), len(content), '"x"')
        return content[found.start : found.stop]

    if last:
        assert part(f"bytes=-{last}") == content[-last:]
    if first >= len(content):
        with pytest.raises(RangeNotSatisfiable):
            part(f"bytes={first}-")
        return
    assert part(f"bytes={first}-") == content[first:]
    if last >= first:
        assert part(f"bytes={first}-{last}") == content[first : last + 1]


@given(st.text(max_size=20))
def test_an_invalid_range_header_is_ignored(spelt: str) -> None:
    headers = Headers(raw=[(b"range", f"lines={spelt}".encode("latin-1", "replace"))])

    assert requested_part(headers, 10, '"x"').is_whole
