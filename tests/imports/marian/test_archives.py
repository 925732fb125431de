"""Archives cannot write outside their folder or unpack to more than the limits."""

import io
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.marian import ArchiveLimits, archive, unpacked
from export.original import ImportRejectedError
from tests.imports.export.rejections import message_of

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")


def _archive(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return path


def _rejection(path: Path, limits: ArchiveLimits | None = None) -> str:
    return message_of(ImportRejectedError, unpacked(path, limits).__enter__)


@pytest.mark.parametrize("name", ["opus-2020-02-26.zip", "opus-2020-02-26.tar.gz"])
def test_unpacked_files_exist_only_while_the_context_is_open(name: str, tmp_path: Path) -> None:
    pack = _archive if name.endswith(".zip") else _tar
    path = pack(tmp_path / name, ("a.txt", b"one"), ("sub/b.txt", b"two"))

    with unpacked(path) as folder:
        assert folder.name == "opus-2020-02-26"
        assert (folder / "a.txt").read_bytes() == b"one"
        assert (folder / "sub" / "b.txt").read_bytes() == b"two"
    assert not folder.exists()


def test_unpacked_files_are_deleted_after_an_error(tmp_path: Path) -> None:
    path = _archive(tmp_path / "some.zip", ("a.txt", b"one"))

    with pytest.raises(KeyError), unpacked(path) as folder:
        raise KeyError
    assert not folder.exists()


def test_the_single_folder_of_an_archive_is_returned(tmp_path: Path) -> None:
    path = _archive(tmp_path / "some.zip", ("de-en/", b""), ("de-en/a.txt", b""), ("de-en/b/", b""))

    with unpacked(path) as folder:
        assert folder.name == "de-en"
        assert (folder / "a.txt").is_file()
        assert (folder / "b").is_dir()


@pytest.mark.parametrize(
    "name",
    [
        *("../outside", "a/../../outside", "..", "a/..", "./a", "a//b", "/absolute", "//server/share"),
        *("C:/windows", "C:outside", "a\\..\\..\\outside", "..\\outside", "\\absolute", "a\nb", "\u202eabc"),
    ],
    ids=ascii,
)
def test_a_member_outside_the_folder_is_rejected(name: str, tmp_path: Path) -> None:
    paths = [_archive(tmp_path / "bad.zip", ("fine.txt", b"fine"), (_raw(name), b"bad"))]
    if name not in {"..", "./a"}:  # of a .tar, the one is left out and the other is `a`
        paths.append(_tar(tmp_path / "bad.tar.gz", ("fine.txt", b"fine"), (name, b"bad")))

    assert all("paths outside the folder" in _rejection(path) for path in paths)
    assert not (tmp_path / "outside").exists()


def _raw(name: str) -> zipfile.ZipInfo:
    """With its name as it is: `ZipInfo` itself tidies names up."""
    info = zipfile.ZipInfo("member.txt")
    info.filename = name
    return info


def _link() -> zipfile.ZipInfo:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return link


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([_link()], "links or devices: 'link'"),
        (["a.txt", "a.txt"], "the same name"),
        (["a.txt", "A.TXT"], "the same name"),
        (["sub/a", "SUB/A"], "the same name"),
        (["a", "a/b"], "inside another member that is a file: 'a/b'"),
    ],
    ids=str,
)
def test_members_that_would_take_the_place_of_others_are_rejected(
    members: list[str | zipfile.ZipInfo], problem: str, tmp_path: Path
) -> None:
    path = _archive(tmp_path / "bad.zip", *((member, b"x") for member in members))

    assert problem in _rejection(path)


def test_encrypted_members_are_rejected(tmp_path: Path) -> None:
    path = _archive(tmp_path / "bad.zip", ("secret.txt", b"secret"))
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    content[directory + 8] |= 0x1
    path.write_bytes(bytes(content))

    assert "encrypted: 'secret.txt'" in _rejection(path)


def test_all_reasons_are_reported_at_once(tmp_path: Path) -> None:
    path = _archive(tmp_path / "bad.zip", (_link(), b"x"), (_raw("../a"), b"x"), ("b", bytes(1000)))

    message = _rejection(path, ArchiveLimits(num_members=2, size_bytes=100, ratio=1.5))

    for part in ("limit is 2", "limit is 100", "more than 1.5 times", "'../a'", "'link'"):
        assert part in message


def test_a_zip_bomb_is_rejected_by_its_ratio(tmp_path: Path) -> None:
    path = _archive(tmp_path / "bomb.zip", ("zeros", bytes(2**20)))

    assert "more than 100 times" in _rejection(path)
    with unpacked(path, ArchiveLimits(ratio=2000)) as folder:
        assert (folder / "zeros").stat().st_size == 2**20


def test_the_actual_size_of_a_member_is_checked(tmp_path: Path) -> None:
    path = _archive(tmp_path / "liar.zip", ("zeros", bytes(100_000)))
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<L", 100_000), struct.pack("<L", 10)))

    assert _rejection(path, ArchiveLimits(size_bytes=5_000))


@given(st.binary(max_size=100), st.integers(0, 400), st.integers(0, 400))
def test_a_damaged_archive_raises_only_import_rejected_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, begin: int, end: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = _archive(folder / "some.zip", ("a.txt", b"one" * 50), ("b/c.txt", b"two"))
    content = path.read_bytes()
    path.write_bytes(content[:begin] + noise + content[end:])

    try:
        with unpacked(path) as there:
            assert all(file.is_relative_to(there) for file in there.rglob("*"))
    except ImportRejectedError:
        pass
    assert sorted(file.name for file in folder.iterdir()) == ["some.zip"]


def _tar(path: Path, *members: tuple[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_tar_with_links_or_devices_is_rejected(kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.tar"
    with tarfile.open(path, "w") as packed:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = kind, "/etc/passwd"
        packed.addfile(info)

    assert "links or devices: 'a'" in _rejection(path)


def test_a_tar_beyond_the_limits_is_rejected_before_anything_is_written(tmp_path: Path) -> None:
    path = _tar(tmp_path / "some.tgz", ("a", b"0" * 2000), ("b", b"0" * 2000))

    assert "the limit is 3000" in _rejection(path, ArchiveLimits(size_bytes=3000))
    assert "the limit is 1" in _rejection(path, ArchiveLimits(num_members=1))
    assert "more than 10 times its size" in _rejection(path, ArchiveLimits(ratio=10.0))


def test_unpacking_stops_at_the_size_limit() -> None:
    file = io.BytesIO()

    with pytest.raises(archive.OversizedError, match="more than it declares"):
        archive.copy_bounded(io.BytesIO(b"more than ten bytes"), file, 10, "more than it declares")
    assert not file.getvalue()


@pytest.mark.parametrize("name", ["some.zip", "some.tar.gz"])
@pytest.mark.parametrize("content", [None, b"", b"no archive", b"\x1f\x8b\x08 cut"])
def test_a_file_that_is_not_an_archive_is_rejected(name: str, content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)

    assert "cannot be unpacked" in _rejection(path)
