"""Compressed files are translated as if they were not compressed; archives that hold what they should not."""

import gzip
import io
import struct
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.formats import archives as module
from service.formats import compression
from service.formats.archives import ArchiveFormat, XmlMember, opened
from service.formats.compression import CompressedFormat
from service.formats.entries import FileFormatError, TargetText
from service.formats.opendocument import OdtFormat
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


CENTRAL = b"PK\x01\x02"
"""Beginning of a member's record in the list at the end of an archive."""


class _WithText(ArchiveFormat):
    """Archives whose members with text are given."""

    def __init__(self, *members: XmlMember) -> None:
        super().__init__(OPTIONS)
        self._members = members

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        del archive
        return self._members


def _archive(*members: tuple[str | ZipInfo, bytes], kind: int = ZIP_DEFLATED) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", kind) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return target.getvalue()


def _named(name: bytes) -> bytes:
    """An archive whose member has a name that zipfile itself would not write."""
    return _archive(("x" * len(name), b"a"), kind=ZIP_STORED).replace(b"x" * len(name), name)


def _encrypted() -> bytes:
    content = bytearray(_archive(("a.xml", b"x")))
    for signature, offset in ((b"PK\x03\x04", 6), (CENTRAL, 8)):
        content[content.index(signature) + offset] |= 1
    return bytes(content)


def _overlapping() -> bytes:
    content = bytearray(_archive(*[(name, bytes(range(256)) * 8) for name in "abcdefgh"], kind=ZIP_STORED))
    at = content.index(CENTRAL)
    for _ in range(8):
        struct.pack_into("<I", content, at + 20, len(content) - 1)
        at = content.find(CENTRAL, at + 1)
    return bytes(content)


def _outside() -> bytes:
    content = bytearray(_archive(("a.xml", b"x")))
    struct.pack_into("<I", content, content.index(CENTRAL) + 42, len(content))
    return bytes(content)


UNSOUND = {
    **{
        f"the name {name!r}": (_named(name), "unsafe name")
        for name in (b"../x", b"a/../../x", b"/etc/x", b"C:/x", b"a\\..\\x", b"..", b"a\0b")
    },
    "a name that is not in UTF-8 as it says": (
        _archive(("ä.xml", b"a"), kind=ZIP_STORED).replace("ä".encode(), b"\x80\x80"),
        "declared as UTF-8, but is not",
    ),
    "a long name": (_archive(("a" * 1001, b"x")), "a name of 1,001 characters, more than 1,000"),
    "encryption": (_encrypted(), r"'a\.xml' is encrypted; save the file without a password"),
    "members that overlap": (_overlapping(), "overlap"),
    "a member outside": (_outside(), "members are outside of it"),
    "a name twice": (_archive(("a", b"1"), ("b", b"2"), kind=ZIP_STORED).replace(b"b", b"a"), "occurs twice"),
    "another compression": (_archive(("a", b"x"), kind=ZIP_BZIP2), "unsupported compression"),
    "much text": (_archive(("a", b"x" * 600), ("b", b"x" * 500)), "unpacks to 1100 bytes; the limit is 1000"),
    "many members": (_archive(*[(name, b"") for name in "abcdefghi"]), "has 9 members; the limit is 8"),
    "a member that packs too well": (_archive(("a.xml", bytes(1000))), "limit of 2 times its size"),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_an_unsound_archive_is_rejected_before_it_is_unpacked(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, problem = UNSOUND[what]
    if "limit" in problem:
        for name, limit in (("MAX_TOTAL_BYTES", 1000), ("MAX_MEMBERS", 8), ("MAX_RATIO", 2)):
            monkeypatch.setattr(module, name, limit)
        monkeypatch.setattr(module, "MIN_RATIO_CHECK_BYTES", 900 if what.endswith("well") else 2000)

    with pytest.raises(FileFormatError, match=problem), opened(BytesIO(content)):
        pass


def test_an_archive_has_the_limit_of_a_plain_file() -> None:
    content = _archive(("content.xml", b"<o/>" + b" " * 96))

    assert entries(OdtFormat(replace(OPTIONS, max_bytes=100)), content) == []
    with pytest.raises(FileFormatError, match="unpacks to 100 bytes; the limit is 99"):
        entries(OdtFormat(replace(OPTIONS, max_bytes=99)), content)


def test_archives_in_archives_are_copied_and_not_opened() -> None:
    bomb = _archive(("content.xml", bytes(module.MIN_RATIO_CHECK_BYTES + 1)))
    content = _archive(("Object 1/content.zip", bomb), ("content.xml", b"<o/>"))

    with pytest.raises(FileFormatError, match=f"limit of {module.MAX_RATIO} times"), opened(BytesIO(bomb)):
        pass
    assert entries(OdtFormat(OPTIONS), content) == []


def test_little_text_may_pack_well() -> None:
    with opened(BytesIO(_archive(("a.xml", bytes(1 << 20))))) as archive:
        assert archive.namelist() == ["a.xml"]


def test_a_size_that_is_a_lie_is_found_when_the_member_is_read() -> None:
    content = bytearray(_archive(("a.xml", b"<x>" + bytes(5000) + b"</x>")))
    struct.pack_into("<I", content, content.index(CENTRAL) + 24, 20)

    text = _WithText(XmlMember("a.xml", lambda stream: iter([stream.read().decode()])))
    with pytest.raises(FileFormatError, match="not a valid zip archive"):
        entries(text, bytes(content))


def test_members_keep_their_order_times_and_ways_of_packing() -> None:
    first = ZipInfo("mimetype", (2001, 2, 3, 4, 5, 6))
    second = ZipInfo("content.xml", (1999, 1, 1, 0, 0, 2))
    second.compress_type, second.external_attr, second.comment = ZIP_DEFLATED, 0o640 << 16, b"c"
    content = _archive((first, b"x"), ("sub/", b""), (second, b"<x/>"))

    result = written(_WithText(XmlMember("content.xml", lambda _: iter(["<y/>"]))), content)

    kept = ["filename", "date_time", "compress_type", "external_attr", "create_system", "comment", "extra"]
    with ZipFile(BytesIO(content)) as before, ZipFile(BytesIO(result)) as after:
        assert [[getattr(info, name) for name in kept] for info in after.infolist()] == [
            [getattr(info, name) for name in kept] for info in before.infolist()
        ]
        assert (after.read("mimetype"), after.read("content.xml")) == (b"x", b"<y/>")
    assert result[30:38] == b"mimetype"
