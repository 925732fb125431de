"""Safe unpacking of archives from untrusted sources."""

import gzip
import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from export.original import ImportRejectedError

CHUNK_BYTES = 2**20
MAX_NAMED = 8
"""Number of rejected members that an error lists; further ones are only counted."""

UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
"""Errors of `zipfile` and `tarfile` for an archive that is damaged, or packed by an unknown method."""
_ENCRYPTED = 0x1


class OversizedError(ValueError):
    """A packed file is larger than it may be."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits on the contents of an archive. The defaults are several times what the largest models need."""

    num_members: int = 10_000
    size_bytes: int = 64 * 2**30
    """Maximum unpacked size of all members together."""
    ratio: float = 100.0
    """Maximum ratio of unpacked size to archive size. Weights hardly shrink when packed."""


@contextmanager
def unpacked(archive: Path, limits: ArchiveLimits | None = None) -> Iterator[Path]:
    """Unpack a .zip or .tar, plain or compressed, into a temporary folder, which is deleted at the end.

    Nothing is written before every member's name and declared size are checked. While a member is written,
    its actual size is checked as well.

    Args:
        archive: the file.
        limits: None for the defaults.

    Yields:
        The folder with the files, named after the archive; if the archive holds nothing but one folder, that
        folder.

    Raises:
        ImportRejectedError: it is not a readable archive, a member would leave the folder, or a limit is
            exceeded; with all reasons.
    """
    limits = limits or ArchiveLimits()
    with tempfile.TemporaryDirectory(prefix="dragoman-unpacked-") as temporary:
        root = Path(temporary) / (archive.name.partition(".tar")[0].removesuffix(".zip") or "archive")
        root.mkdir()
        try:
            with _open(archive, limits) as members:
                _unpack(archive, members, root, limits)
        except ImportRejectedError:
            raise
        except (*UNREADABLE, ValueError, OSError) as error:
            raise ImportRejectedError(str(archive), (f"cannot be unpacked: {error}",)) from error
        yield _inner_folder(root)


def size_problems(infos: Sequence[zipfile.ZipInfo], archive_bytes: int, limits: ArchiveLimits) -> list[str]:
    """Return problems with the members' number, sizes and encryption, as the archive's directory declares."""
    size_bytes = sum(info.file_size for info in infos)
    problems = []
    if len(infos) > limits.num_members:
        problems.append(f"has {len(infos)} members; the limit is {limits.num_members}")
    if size_bytes > limits.size_bytes:
        problems.append(f"unpacks to {size_bytes} bytes; the limit is {limits.size_bytes}")
    if size_bytes > limits.ratio * archive_bytes:
        problems.append(
            f"unpacks to {size_bytes} bytes, more than {limits.ratio:g} times its size of {archive_bytes}"
        )
    encrypted = [info.filename for info in infos if info.flag_bits & _ENCRYPTED]
    if encrypted:
        problems.append(f"members are encrypted: {_format_names(encrypted)}")
    return problems


def duplicate_problems(names: Sequence[str]) -> list[str]:
    """Return a problem if names are the same, ignoring case as some file systems do."""
    counts = Counter(name.casefold() for name in names)
    duplicates = [name for name in names if counts[name.casefold()] > 1]
    return [f"members have the same name: {_format_names(duplicates)}"] if duplicates else []


class _TarMembers:
    """A .tar as if it were a .zip: its members, each with a kind, a size and an open file."""

    def __init__(self, tar: tarfile.TarFile, limits: ArchiveLimits) -> None:
        self._tar, self._limits = tar, limits
        self._members: dict[str, tarfile.TarInfo] = {}

    def infolist(self) -> list[zipfile.ZipInfo]:
        """Return the members; no more than show that a limit is exceeded."""
        infos: list[zipfile.ZipInfo] = []
        size_bytes = 0
        for member in self._tar:
            info = zipfile.ZipInfo(member.name.removeprefix("./") + "/" * member.isdir())
            info.file_size = member.size
            is_plain = member.isfile() or member.isdir()
            info.external_attr = (stat.S_IFMT(0) if is_plain else stat.S_IFLNK) << 16
            size_bytes += member.size
            if info.filename.strip("./"):
                infos.append(info)
                self._members[info.filename] = member
            if len(infos) > self._limits.num_members or size_bytes > self._limits.size_bytes:
                break
        return infos

    def open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        file = self._tar.extractfile(self._members[info.filename])
        assert file is not None, "only files are opened"  # noqa: S101 -- only a bug
        return file


@contextmanager
def _open(archive: Path, limits: ArchiveLimits) -> Iterator[_TarMembers | zipfile.ZipFile]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            yield packed
    else:
        with tarfile.open(archive) as tar:
            yield _TarMembers(tar, limits)


def _unpack(archive: Path, members: _TarMembers | zipfile.ZipFile, root: Path, limits: ArchiveLimits) -> None:
    infos = members.infolist()
    problems = size_problems(infos, archive.stat().st_size, limits)
    problems += _name_problems(infos)
    if problems:
        raise ImportRejectedError(str(archive), tuple(problems))
    remaining_bytes = limits.size_bytes
    for info in infos:
        target = root.joinpath(*_parts(info.filename))
        if info.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with members.open(info) as packed, target.open("xb") as file:
            max_bytes, problem = min(remaining_bytes, info.file_size), "unpacks to more than it declares"
            remaining_bytes -= copy_bounded(packed, file, max_bytes, f"{info.filename} {problem}")


def copy_bounded(packed: IO[bytes] | gzip.GzipFile, file: IO[bytes], max_bytes: int, problem: str) -> int:
    """Write what is unpacked; return the number of bytes written.

    Raises:
        OversizedError: there are more than `max_bytes`, with this problem; no more than that are written.
    """
    written = 0
    while chunk := packed.read(CHUNK_BYTES):
        written += len(chunk)
        if written > max_bytes:
            raise OversizedError(problem)
        file.write(chunk)
    return written


def _name_problems(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    names = [info.filename for info in infos]
    leaving = [name for name in names if not _is_inside_folder(name)]
    links = [info.filename for info in infos if not _is_plain(info)]
    problems = [f"members have paths outside the folder: {_format_names(leaving)}"] if leaving else []
    if links:
        problems.append(f"members are links or devices: {_format_names(links)}")
    paths = ["/".join(_parts(name)) for name in names]
    files = {path.casefold() for path, info in zip(paths, infos, strict=True) if not info.is_dir()}
    under_files = [path for path in paths if any(parent in files for parent in _parents(path.casefold()))]
    if under_files:
        problems.append(f"members are inside another member that is a file: {_format_names(under_files)}")
    return problems + duplicate_problems(paths)


def _is_inside_folder(name: str) -> bool:
    """Return whether a name is a path inside the folder on every system: no `..`, drive or backslash."""
    printable = all(character.isprintable() for character in name)
    parts = name.removesuffix("/").split("/")
    return printable and not set(name) & {"\\", ":"} and not any(part in {"", ".", ".."} for part in parts)


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is a file or a folder; archives without Unix modes do not say."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    return kind in {0, stat.S_IFREG, stat.S_IFDIR}


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part]


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    for count in range(1, len(parts)):
        yield "/".join(parts[:count])


def _inner_folder(root: Path) -> Path:
    entries = list(root.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else root


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"
