"""Compressed files: whatever is in them is translated as if it were not compressed."""

import gzip
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.formats import compression
from service.formats.compression import COMPRESSIONS, CompressedFormat
from service.formats.entries import Entry, FileFormat, FileFormatError, FileOptions
from service.formats.lines import LinesFormat

PROJECT = Path(__file__).resolve().parents[2]
LINES = LinesFormat(FileOptions("de", "en"))
SUFFIXES = pytest.mark.parametrize("suffix", COMPRESSIONS)


def compressed(content: bytes, suffix: str) -> bytes:
    return gzip.compress(content) if suffix == ".gz" else zstandard.compress(content)


def plain(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(content)
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)).read()


def read(file_format: FileFormat, content: bytes) -> list[Entry]:
    return list(file_format.read(io.BytesIO(content)))


def written(file_format: FileFormat, content: bytes, *texts: str) -> bytes:
    target = io.BytesIO()
    file_format.write(io.BytesIO(content), iter(texts), target)
    assert not target.closed
    return target.getvalue()


@given(
    lines=st.lists(st.text("abc ü\r", max_size=20)),
    suffix=st.sampled_from(COMPRESSIONS),
    is_streamed=st.booleans(),
)
def test_what_is_in_it_is_translated_as_if_it_were_not_compressed(
    lines: list[str], suffix: str, *, is_streamed: bool
) -> None:
    content = "\n".join(lines).encode()
    file_format = CompressedFormat(LINES, suffix, is_streamed)

    entries = read(file_format, compressed(content, suffix))
    result = written(file_format, compressed(content, suffix), *(entry.text.upper() for entry in entries))

    assert entries == read(LINES, content)
    assert plain(result, suffix) == written(LINES, content, *(entry.text.upper() for entry in entries))


@SUFFIXES
def test_several_compressed_files_in_a_row_are_one(suffix: str) -> None:
    content = compressed(b"eins\nzw", suffix) + compressed(b"", suffix) + compressed(b"ei\n", suffix)

    assert [entry.text for entry in read(CompressedFormat(LINES, suffix, is_streamed=True), content)] == [
        "eins",
        "zwei",
    ]


@SUFFIXES
def test_what_is_packed_depends_on_the_content_alone(suffix: str, tmp_path: Path) -> None:
    content = compressed(b"eins\nzwei\n", suffix)
    file_format = CompressedFormat(LINES, suffix, is_streamed=True)
    results = set()
    for name in ("a", "b"):
        path = tmp_path / name
        with path.open("wb") as target:
            file_format.write(io.BytesIO(content), iter(["one", "two"]), target)
        results.add(path.read_bytes())
    results.add(written(file_format, content, "one", "two"))

    assert len(results) == 1
    if suffix == ".gz":
        assert results.pop()[3:8] == bytes(5)  # RFC 1952: no flags, so no name, and no time


@SUFFIXES
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_file_that_is_cut_is_refused_wherever_it_is(suffix: str, *, is_streamed: bool) -> None:
    whole = compressed(b"".join(b"Satz %d\n" % (i * i) for i in range(200)), suffix)
    file_format = CompressedFormat(LINES, suffix, is_streamed)

    for size in range(1, len(whole), 7):
        with pytest.raises(FileFormatError, match=r"^it cannot be unpacked beyond [\d,]+ bytes: "):
            read(file_format, whole[:size])


@SUFFIXES
def test_damage_is_told(suffix: str) -> None:
    whole = bytearray(compressed(b"".join(b"Satz %d\n" % (i * i) for i in range(200)), suffix))
    whole[len(whole) // 2] ^= 0xFF
    file_format = CompressedFormat(LINES, suffix, is_streamed=True)

    if suffix == ".zst":  # of which not all have checksums
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        whole = bytearray(compressor.compress(b"".join(b"Satz %d\n" % (i * i) for i in range(200))))
        whole[-1] ^= 0xFF
    with pytest.raises(FileFormatError, match=r"it is damaged or cut$"):
        read(file_format, bytes(whole))


@SUFFIXES
def test_what_is_not_compressed_is_refused(suffix: str) -> None:
    with pytest.raises(FileFormatError, match=r"^it cannot be unpacked beyond 0 bytes: "):
        read(CompressedFormat(LINES, suffix, is_streamed=True), b"Hallo\n")


@SUFFIXES
def test_a_file_that_unpacks_to_far_more_than_text_does_is_refused(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MIN_RATIO_CHECK_BYTES", 2**18)
    bomb = compressed(b"\n" * 2**21, suffix)

    assert len(bomb) * compression.MAX_RATIO < 2**21
    with pytest.raises(FileFormatError, match=r"^it unpacks to more than 200 times its size"):
        read(CompressedFormat(LINES, suffix, is_streamed=True), bomb)


@SUFFIXES
def test_what_must_be_unpacked_as_a_whole_has_a_limit(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAX_BUFFERED_BYTES", 100_000)
    content = compressed(b"a\n" * 50_001, suffix)

    with pytest.raises(FileFormatError, match=r"^it unpacks to more than 100,000 bytes; unpack it first"):
        read(CompressedFormat(LINES, suffix, is_streamed=False), content)
    assert len(read(CompressedFormat(LINES, suffix, is_streamed=True), content)) == 50_001


def test_unpacking_takes_little_memory_whatever_comes() -> None:
    program = """
import io, resource, sys, zstandard
sys.path.insert(0, ".")
from service.formats.compression import CompressedFormat
from service.formats.entries import FileOptions
from service.formats.entries import FileFormatError
from service.formats.lines import LinesFormat
packed = io.BytesIO()
with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as writer:
    for _ in range(1024):
        writer.write(bytes(2**20))
lines = CompressedFormat(LinesFormat(FileOptions("de", "en")), ".zst", is_streamed=True)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    list(lines.read(io.BytesIO(packed.getvalue())))
except FileFormatError as problem:
    print(problem)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=PROJECT, text=True
    )
    problem, more_mib = finished.stdout.splitlines()

    assert problem == "line 1 is longer than 10,000,000 bytes; split it"
    assert int(more_mib) < 120


class Seeker:
    """Reads its file from the end."""

    def read(self, source: io.BufferedIOBase) -> Iterator[Entry]:
        source.seek(-3, io.SEEK_END)
        yield Entry(source.read().decode(), "the end")

    def write(self, source: io.BufferedIOBase, texts: Iterator[str], target: io.BufferedIOBase) -> None:
        del source
        target.write(next(texts).encode())


@SUFFIXES
def test_what_seeks_in_its_file_can(suffix: str) -> None:
    file_format = CompressedFormat(Seeker(), suffix, is_streamed=False)  # type: ignore[arg-type]

    assert read(file_format, compressed(b"abcdef", suffix)) == [Entry("def", "the end")]
