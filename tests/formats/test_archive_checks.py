"""Archives that hold what they should not."""

import struct
from collections.abc import Sequence
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats import archives as module
from service.formats.archives import ArchiveFormat, XmlMember, opened
from service.formats.docx import DocxFormat
from service.formats.entries import FileFormatError
from service.formats.epub import EpubFormat
from service.formats.odt import OdtFormat
from tests.formats.rewriting import OPTIONS, entries


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


def _named(name: str) -> bytes:
    """An archive whose member has a name that zipfile itself would not write."""
    standing = "x" * len(name.encode())
    return _archive((standing, b"a"), kind=ZIP_STORED).replace(standing.encode(), name.encode())


def test_a_name_that_is_said_to_be_utf_8_and_is_not_is_refused() -> None:
    content = _archive(("ä.xml", b"a"), kind=ZIP_STORED).replace("ä".encode(), b"\x80\x80")

    with pytest.raises(FileFormatError, match="declared as UTF-8, but is not"), opened(BytesIO(content)):
        pass


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "C:/x", "a\\..\\x", "..", "a\0b"])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(FileFormatError, match="unsafe name"), opened(BytesIO(_named(name))):
        pass


def test_names_of_members_are_limited() -> None:
    content = _archive(("a" * (module.MAX_NAME_CHARACTERS + 1), b"x"))

    with (
        pytest.raises(FileFormatError, match="a name of 1,001 characters, more than 1,000"),
        opened(BytesIO(content)),
    ):
        pass


def test_archives_in_archives_are_copied_and_not_opened() -> None:
    bomb = _archive(("content.xml", bytes(module.MIN_RATIO_CHECK_BYTES + 1)))
    content = _archive(("Object 1/content.zip", bomb), ("content.xml", b"<o/>"))

    assert entries(OdtFormat(OPTIONS), content) == []


def test_encrypted_members_are_refused() -> None:
    content = bytearray(_archive(("a.xml", b"x")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1

    problem = r"'a\.xml' is encrypted; save the file without a password"
    with pytest.raises(FileFormatError, match=problem), opened(BytesIO(bytes(content))):
        pass


def test_what_packs_too_well_is_refused_before_it_is_unpacked() -> None:
    bomb = _archive(("a.xml", bytes(module.MIN_RATIO_CHECK_BYTES + 1)))

    with (
        pytest.raises(FileFormatError, match=f"limit of {module.MAX_RATIO} times its size"),
        opened(BytesIO(bomb)),
    ):
        pass


def test_little_text_may_pack_well() -> None:
    with opened(BytesIO(_archive(("a.xml", bytes(1 << 20))))) as archive:
        assert archive.namelist() == ["a.xml"]


def test_too_much_is_refused_by_what_the_archive_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 10)
    monkeypatch.setattr(module, "MAX_MEMBERS", 2)

    large = _archive(("a", b"x" * 6), ("b", b"x" * 5))
    with pytest.raises(FileFormatError, match="unpacks to 11 bytes; the limit is 10"), opened(BytesIO(large)):
        pass
    many = _archive(("a", b""), ("b", b""), ("c", b""))
    with pytest.raises(FileFormatError, match="has 3 members; the limit is 2"), opened(BytesIO(many)):
        pass


def test_a_size_that_is_a_lie_is_found_when_the_member_is_read() -> None:
    content = bytearray(_archive(("a.xml", b"<x>" + bytes(5000) + b"</x>")))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, 20)

    text = _WithText(XmlMember("a.xml", lambda stream: iter([stream.read().decode()])))
    with pytest.raises(FileFormatError, match="not a valid zip archive"):
        list(text.read(BytesIO(bytes(content))))


def test_members_that_overlap_are_refused() -> None:
    content = bytearray(_archive(*[(name, bytes(range(256)) * 8) for name in "abcdefgh"], kind=ZIP_STORED))
    at = content.index(b"PK\x01\x02")
    for _ in range(8):
        struct.pack_into("<I", content, at + 20, len(content) - 1)
        at = content.find(b"PK\x01\x02", at + 1)

    with pytest.raises(FileFormatError, match="overlap"), opened(BytesIO(bytes(content))):
        pass


def test_members_of_one_name_are_refused() -> None:
    content = _archive(("a", b"1"), ("b", b"2"), kind=ZIP_STORED).replace(b"b", b"a")

    with pytest.raises(FileFormatError, match="occurs twice"), opened(BytesIO(content)):
        pass


def test_other_ways_of_packing_are_refused() -> None:
    with (
        pytest.raises(FileFormatError, match="unsupported compression"),
        opened(BytesIO(_archive(("a", b"x"), kind=ZIP_BZIP2))),
    ):
        pass


@pytest.mark.parametrize("file_format", [DocxFormat(OPTIONS), OdtFormat(OPTIONS), EpubFormat(OPTIONS)])
@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", _archive(), _archive(("a.txt", b"x"))])
def test_what_is_no_file_of_its_kind_is_refused(
    file_format: DocxFormat | OdtFormat | EpubFormat, content: bytes
) -> None:
    with pytest.raises(FileFormatError):
        entries(file_format, content)


_SOUND = _archive(
    ("content.xml", b'<o xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:p>a</text:p></o>'),
    ("other", bytes(100)),
)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.integers(0, len(_SOUND) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_damage_is_a_problem_of_the_file_or_none(changes: list[tuple[int, int]]) -> None:
    content = bytearray(_SOUND)
    for at, value in changes:
        content[at] = value
    try:
        found = entries(OdtFormat(OPTIONS), bytes(content))
    except FileFormatError:
        return
    assert len(found) <= 1


def test_members_keep_their_order_times_and_ways_of_packing() -> None:
    first = ZipInfo("mimetype", (2001, 2, 3, 4, 5, 6))
    second = ZipInfo("content.xml", (1999, 1, 1, 0, 0, 2))
    second.compress_type, second.external_attr, second.comment = ZIP_DEFLATED, 0o640 << 16, b"c"
    content = _archive((first, b"x"), ("sub/", b""), (second, b"<x/>"))
    target = BytesIO()

    text = _WithText(XmlMember("content.xml", lambda _: iter(["<y/>"])))
    text.write(BytesIO(content), iter([]), target)

    told = ["filename", "date_time", "compress_type", "external_attr", "create_system", "comment", "extra"]
    with ZipFile(BytesIO(content)) as before, ZipFile(target) as after:
        assert [[getattr(info, name) for name in told] for info in after.infolist()] == [
            [getattr(info, name) for name in told] for info in before.infolist()
        ]
        assert (after.read("mimetype"), after.read("content.xml")) == (b"x", b"<y/>")
    assert target.getvalue()[30:38] == b"mimetype"


def test_too_many_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="more texts than entries"):
        _WithText().write(BytesIO(_archive()), iter(["x"]), BytesIO())
