"""Zip archives: check them before reading, and write them with some members changed."""

import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import IO, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from service.formats.entries import Entry, FileFormatError, FileOptions, TargetText
from service.formats.inline_runs import TextRun, entries_in, fill_runs
from service.formats.parts import TextPart, TextUnit, Unit, end, entries_of, joined, written
from service.formats.xml_tree import Element, Name
from service.formats.xml_units import with_units, xml_encoder, xml_units
from service.text.tokens import InlineItem

MAX_MEMBERS = 10_000
MAX_NAME_CHARACTERS = 1000
MAX_TOTAL_BYTES = 1 << 30
"""Maximum size of all members together, unpacked."""
MAX_RATIO = 250
"""Maximum ratio of unpacked to packed size; deflate itself reaches 1032."""
MIN_RATIO_CHECK_BYTES = 16 << 20
"""Unpacked size up to which `MAX_RATIO` does not apply: XML that repeats a few words compresses well."""

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of the files that hold encrypted packages."""
_MAX_SHOWN = 40
_ENCRYPTED = 0x1
_ZIP64_EXTRA = 0x0001


@dataclass(frozen=True, slots=True)
class XmlMember:
    """An archive member that holds text."""

    name: str
    parts: Callable[[IO[bytes]], Iterator[TextPart]]
    """Splits the content into text and units, in order."""


class ArchiveFormat(ABC):
    """Base of formats that are zip archives of XML."""

    def __init__(self, options: FileOptions) -> None:
        """Store the options of the file."""
        self.options = options

    @abstractmethod
    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """Return the members of an archive that hold text, in reading order."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with opened(source, self.options.max_bytes) as archive:
            for member in self.members(archive):
                with archive.open(member.name) as content:
                    yield from entries_of(member.parts(content))

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`.

        Members keep their order, names, times and attributes; those without text keep their content. The
        compressed bytes may differ.
        """
        with opened(source, self.options.max_bytes) as archive, ZipFile(target, "w") as copy:
            copy.comment = archive.comment
            changed: dict[str, bytes] = {}
            for member in self.members(archive):  # in reading order; members are stored in another one
                with archive.open(member.name) as content:
                    encode = xml_encoder(content)
                    changed[member.name] = b"".join(map(encode, written(member.parts(content), texts)))
            end(texts)
            for info in archive.infolist():
                _copy(archive, info, copy, changed.get(info.filename))


def member_elements(
    archive: ZipFile, name: str, names: frozenset[Name], *, allows_doctype: bool = False
) -> Iterator[Element]:
    """Yield the elements of these names in a member; see `xml_units`."""
    with archive.open(name) as content:
        for part in xml_units(content, names, allows_doctype=allows_doctype):
            if isinstance(part, Element):
                yield part


@contextmanager
def opened(source: BinaryIO, max_bytes: int | None = None) -> Iterator[ZipFile]:
    """Open an archive whose members passed all checks.

    Args:
        source: the archive.
        max_bytes: maximum size of all members together, if less than `MAX_TOTAL_BYTES`.

    Raises:
        FileFormatError: the archive is damaged, encrypted or unpacks to too much. Damage that shows only when
            a member is read is raised too.
    """
    try:
        with _zip_file(source) as archive:
            _check(archive, source, min(MAX_TOTAL_BYTES, max_bytes or MAX_TOTAL_BYTES))
            yield archive
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise FileFormatError(f"it is not a valid zip archive: {error}; save it again") from error


def _zip_file(source: BinaryIO) -> ZipFile:
    if source.read(len(_COMPOUND_FILE)) == _COMPOUND_FILE:
        raise FileFormatError(
            "it is encrypted, or in an old binary format of Office (doc, xls, ppt); save it without a "
            "password and in the format of its suffix"
        )
    try:
        return ZipFile(source)
    except UnicodeDecodeError as error:
        raise BadZipFile("a member's name is declared as UTF-8, but is not") from error


def _copy(archive: ZipFile, info: ZipInfo, copy: ZipFile, content: bytes | None) -> None:
    new = ZipInfo(info.filename, info.date_time)
    new.compress_type = info.compress_type
    new.create_system, new.external_attr, new.internal_attr = (
        info.create_system,
        info.external_attr,
        info.internal_attr,
    )
    new.comment = info.comment
    new.extra = _without_sizes(info.extra)
    if content is not None:
        copy.writestr(new, content)
        return
    new.file_size = info.file_size
    with archive.open(info) as old, copy.open(new, "w") as target:
        shutil.copyfileobj(old, target)


def _without_sizes(extra: bytes) -> bytes:
    """Return the extra fields without the Zip64 sizes, which `zipfile` writes again where needed."""
    kept, at = b"", 0
    while at + 4 <= len(extra):
        kind = int.from_bytes(extra[at : at + 2], "little")
        next_field = at + 4 + int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind != _ZIP64_EXTRA:
            kept += extra[at:next_field]
        at = next_field
    return kept


def _check(archive: ZipFile, source: BinaryIO, max_bytes: int) -> None:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise FileFormatError(f"it has {len(infos)} members; the limit is {MAX_MEMBERS}; split it")
    names = set()
    for info in infos:
        _check_member(info)
        if info.filename in names:
            raise FileFormatError(f"its member {info.filename!r} occurs twice; save it again")
        names.add(info.filename)
    size_bytes = source.seek(0, 2)
    packed_bytes = sum(info.compress_size for info in infos)
    total_bytes = sum(info.file_size for info in infos)
    if any(not 0 <= info.header_offset < size_bytes for info in infos):
        raise FileFormatError("it is not a valid zip archive: members are outside of it; save it again")
    if packed_bytes > size_bytes:
        raise FileFormatError("its members overlap; save it again")
    if total_bytes > max_bytes:
        raise FileFormatError(f"it unpacks to {total_bytes} bytes; the limit is {max_bytes}; split it")
    if total_bytes > MIN_RATIO_CHECK_BYTES and total_bytes > MAX_RATIO * packed_bytes:
        raise FileFormatError(
            f"it unpacks to {total_bytes} bytes, more than the limit of {MAX_RATIO} times its size"
        )


def _check_member(info: ZipInfo) -> None:
    name = info.filename
    if len(name) > MAX_NAME_CHARACTERS:
        raise FileFormatError(
            f"its member {name[:_MAX_SHOWN]!r}... has a name of {len(name):,} characters, more than "
            f"{MAX_NAME_CHARACTERS:,}; shorten it"
        )
    path = PurePosixPath(name)
    # Some readers cut a name at a NUL, and some read `\` as `/`.
    is_foreign = "\\" in name or "\0" in info.orig_filename or ":" in name.split("/", 1)[0]
    if not name or path.is_absolute() or ".." in path.parts or is_foreign:
        raise FileFormatError(f"its member {info.orig_filename!r} has an unsafe name; save the file again")
    if info.flag_bits & _ENCRYPTED:
        raise FileFormatError(f"its member {name!r} is encrypted; save the file without a password")
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise FileFormatError(f"its member {name!r} has an unsupported compression; save the file again")


WriteNested = Callable[[Element], str]
"""Returns a paragraph inside another one as it is written."""


@dataclass(frozen=True, slots=True)
class ParagraphFormat:
    """Functions by which a format finds and writes its paragraphs."""

    paragraphs: frozenset[Name]
    left_alone: frozenset[Name]
    """Elements that are copied with all paragraphs in them."""
    find: Callable[[Element, str, WriteNested], list[TextRun | InlineItem]]
    """Returns the content of a paragraph, given its location and how to write the paragraphs in it."""
    render: Callable[[Element, Sequence[InlineItem]], str]
    """Returns a paragraph with this content."""

    def parts(
        self,
        before: str,
        content: IO[bytes],
        units: frozenset[Name] = frozenset(),
        untranslated: frozenset[Name] = frozenset(),
    ) -> Iterator[TextPart]:
        """Yield the parts of a member.

        Args:
            before: prefix of the locations: `ppt/slides/slide1.xml, `.
            content: the member.
            units: elements that are read like paragraphs; none: only paragraphs.
            untranslated: elements that are copied with everything in them.
        """
        numbers = count(1)
        return with_units(
            xml_units(content, units or self.paragraphs, untranslated=untranslated),
            lambda part: (self.passage(part, f"{before}paragraph {next(numbers)}"),),
        )

    def passage(self, element: Element, location: str) -> TextUnit:
        """Return a paragraph as a unit: its own entries, then those of the paragraphs in it."""
        nested = list(self._nested(element))
        inner = [self.passage(other, f"{location}, inside") for other in nested]
        found = self.find(element, location, _raw)
        outer = entries_in(found)

        def render(texts: Sequence[TargetText]) -> str:
            rendered: dict[int, str] = {}
            at = len(outer)
            for other, passage in zip(nested, inner, strict=True):
                rendered[id(other)] = passage.write(texts[at : at + len(passage.entries)])
                at += len(passage.entries)
            if [text.text for text in texts[: len(outer)]] == [entry.text for entry in outer]:
                return self._outer(element, lambda other: rendered[id(other)])
            inside = self.find(element, location, lambda other: rendered[id(other)])
            return self.render(element, fill_runs(inside, texts[: len(outer)]))

        return Unit(outer + joined(inner).entries, render, element.raw)

    def inside(self, element: Element, location: str) -> TextPart:
        """Return an element with the paragraphs in it as entries."""
        if element.name in self.paragraphs:
            return self.passage(element, location)
        if element.name in self.left_alone:
            return element.raw
        inner = [
            self.inside(node, location) if isinstance(node, Element) else node.raw for node in element.nodes
        ]
        return joined([element.open, *inner, element.close])

    def written(self, element: Element, write: WriteNested) -> str:
        """Return an element with the paragraphs in it as `write` writes them."""
        if element.name in self.paragraphs:
            return write(element)
        return element.raw if element.name in self.left_alone else self._outer(element, write)

    def _outer(self, element: Element, write: WriteNested) -> str:
        return element.rewritten({id(child): self.written(child, write) for child in element.elements})

    def _nested(self, element: Element) -> Iterator[Element]:
        for child in element.elements:
            if child.name in self.paragraphs:
                yield child
            elif child.name not in self.left_alone:
                yield from self._nested(child)


def _raw(element: Element) -> str:
    return element.raw
