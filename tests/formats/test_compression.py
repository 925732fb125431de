"""Compressed files: whatever is in them is translated as if it were not compressed."""

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.formats import compression
from service.formats.compression import CompressedFormat
from service.formats.entries import FileFormatError, TargetText
from service.formats.plain_text import PlainTextFormat
from service.formats.registry import COMPRESSIONS
from service.text.marked_text import MarkedText
from tests.formats.rewriting import OPTIONS, entries, rewritten, shouted, written

LINES = PlainTextFormat(OPTIONS)
SUFFIXES = pytest.mark.parametrize("suffix", COMPRESSIONS)
SENTENCES = b"".join(b"Satz %d\n" % (i * i) for i in range(200))


def compressed(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(content)
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def plain(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(content)
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)).read()


@given(
    pieces=st.lists(st.text("abc ü\r\n", max_size=40), min_size=1, max_size=3),
    suffix=st.sampled_from(COMPRESSIONS),
    is_streamed=st.booleans(),
)
def test_compressed_files_in_a_row_are_translated_like_their_content(
    pieces: list[str], suffix: str, *, is_streamed: bool
) -> None:
    content = "".join(pieces).encode()
    file_format = CompressedFormat(LINES, suffix, is_streamed)
    packed = b"".join(compressed(piece.encode(), suffix) for piece in pieces)

    assert entries(file_format, packed) == entries(LINES, content)
    assert plain(rewritten(file_format, packed, shouted), suffix) == rewritten(LINES, content, shouted)


@SUFFIXES
def test_compressed_output_depends_on_the_content_alone(suffix: str, tmp_path: Path) -> None:
    content = compressed(b"eins\nzwei\n", suffix)
    file_format = CompressedFormat(LINES, suffix, is_streamed=True)
    with (tmp_path / "name").open("wb") as target:
        texts = [TargetText(MarkedText(text)) for text in ("one", "two")]
        file_format.write(io.BytesIO(content), iter(texts), target)
    result = (tmp_path / "name").read_bytes()

    assert result == written(file_format, content, "one", "two")
    assert suffix != ".gz" or result[3:8] == bytes(5)  # RFC 1952: no flags, so no name, and no time


@SUFFIXES
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_file_that_is_cut_damaged_or_not_compressed_is_rejected(suffix: str, *, is_streamed: bool) -> None:
    whole = compressed(SENTENCES, suffix)
    file_format = CompressedFormat(LINES, suffix, is_streamed)

    for content in (b"Hallo\n", *(whole[:size] for size in range(1, len(whole), 7))):
        with pytest.raises(FileFormatError, match=r"^it cannot be unpacked beyond [\d,]+ bytes: "):
            entries(file_format, content)
    with pytest.raises(FileFormatError, match=r"it is damaged or cut$"):
        entries(file_format, whole[:-1] + bytes([whole[-1] ^ 0xFF]))


@SUFFIXES
def test_a_file_that_unpacks_to_far_more_than_text_does_is_rejected(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MIN_RATIO_CHECK_BYTES", 2**18)
    bomb = compressed(b" " * 2**21, suffix)

    assert len(bomb) * compression.MAX_RATIO < 2**21
    with pytest.raises(FileFormatError, match=r"^it unpacks to more than 200 times its size"):
        entries(CompressedFormat(LINES, suffix, is_streamed=True), bomb)


@SUFFIXES
def test_content_unpacked_as_a_whole_has_a_limit(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAX_BUFFERED_BYTES", 100_000)
    content = compressed(b"a\n" * 50_001, suffix)

    with pytest.raises(
        FileFormatError, match=r"^it unpacks to more than 100,000 bytes; split it, or unpack it"
    ):
        entries(CompressedFormat(LINES, suffix, is_streamed=False), content)
    assert len(entries(CompressedFormat(LINES, suffix, is_streamed=True), content)) == 50_001


@given(
    size_bytes=st.integers(0, 2**19),
    max_bytes=st.integers(1, 2**19),
    suffix=st.sampled_from(COMPRESSIONS),
    is_streamed=st.booleans(),
)
def test_a_compressed_file_has_the_limit_of_a_plain_one(
    size_bytes: int, max_bytes: int, suffix: str, *, is_streamed: bool
) -> None:
    file_format = CompressedFormat(LINES, suffix, is_streamed, max_bytes)
    content = compressed(b"a" * size_bytes, suffix)

    if size_bytes <= max_bytes:
        assert sum(len(entry.text) for entry in entries(file_format, content)) == size_bytes
    else:
        with pytest.raises(FileFormatError, match=rf"^it unpacks to more than {max_bytes:,} bytes"):
            entries(file_format, content)


@SUFFIXES
def test_unpacking_takes_little_memory_for_any_file(suffix: str) -> None:
    packed = compressed(bytes(2**28), suffix)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=r"^line 1 is longer than 10,000,000 bytes; split it"):
            entries(CompressedFormat(LINES, suffix, is_streamed=True), packed)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
