"""Books: the chapters that a package's manifest names, and its table of contents.

Titles in the package's own file stay as they are. Specification: EPUB 3.3, and OPF 2.0.1 for older books.
"""

import posixpath
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, BinaryIO
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

from service.formats.archives import XmlMember, read_entries, write_archive
from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileProblem
from service.formats.passages import Passage, decode
from service.formats.token_blocks import token_blocks
from service.formats.xml_units import Element, Name, encoding_of, xml_units
from service.markup.html_names import BLOCKS, IGNORED
from service.markup.options import MarkupError, MarkupLanguage, MarkupOptions
from service.markup.xml_tokens import xml_tokens

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_ROOTFILE = Name("urn:oasis:names:tc:opendocument:xmlns:container", "rootfile")
_ITEM = Name("http://www.idpf.org/2007/opf", "item")
_CIPHER = Name("http://www.w3.org/2001/04/xmlenc#", "CipherReference")
_PACKAGE = "application/oebps-package+xml"
_CHAPTER = "application/xhtml+xml"
_CONTENTS = "application/x-dtbncx+xml"
_XHTML = MarkupOptions(
    MarkupLanguage.XML,
    ignore_tags=IGNORED,
    splitting_tags=BLOCKS,
    non_splitting_tags=frozenset(["a", "b", "em", "i", "img", "small", "span", "strong", "sub", "sup"]),
)
_NCX = MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset(["text"]))


class EpubFormat:
    """An entry is a block of running text of a chapter."""

    def __init__(self, options: FileOptions) -> None:
        """Nothing about books can be chosen."""
        del options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return read_entries(source, _members)

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        write_archive(source, texts, target, _members)


def _members(archive: ZipFile) -> Sequence[XmlMember]:
    names = frozenset(archive.namelist())
    members: dict[str, XmlMember] = {}
    encrypted = _encrypted(archive, names)
    for package in _attributes(archive, names, _CONTAINER, _ROOTFILE, ("full-path", "media-type")):
        if package[1] != _PACKAGE:
            continue
        folder = posixpath.dirname(package[0])
        for href, kind in _attributes(archive, names, package[0], _ITEM, ("href", "media-type")):
            if kind not in {_CHAPTER, _CONTENTS} or urlsplit(href).netloc:
                continue
            name = posixpath.normpath(posixpath.join(folder, unquote(urlsplit(href).path)))
            if name not in names:
                raise FileProblem(f"its member {name!r} is missing, which its package names; save it anew")
            if name in encrypted:
                raise FileProblem(f"its member {name!r} is encrypted; a book is read without protection only")
            members[name] = XmlMember(name, partial(_parts, f"{name}, ", kind))
    if not members:
        raise FileProblem("it names no chapters, so it is no book; save it anew")
    return list(members.values())


def _attributes(
    archive: ZipFile, names: frozenset[str], member: str, element: Name, wanted: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    if member not in names:
        raise FileProblem(f"its member {member!r} is missing, without which it is no book")
    with archive.open(member) as content:
        for part in xml_units(content, frozenset([element]), allows_doctype=True):
            if isinstance(part, Element):
                yield part.attribute(wanted[0]) or "", part.attribute(wanted[1]) or ""


def _encrypted(archive: ZipFile, names: frozenset[str]) -> frozenset[str]:
    """Members that are encrypted each for itself; fonts often are."""
    if _ENCRYPTION not in names:
        return frozenset()
    with archive.open(_ENCRYPTION) as content:
        return frozenset(
            unquote(part.attribute("URI") or "")
            for part in xml_units(content, frozenset([_CIPHER]))
            if isinstance(part, Element)
        )


def _parts(before: str, kind: str, content: IO[bytes]) -> Iterator[str | Passage]:
    text = decode(content.read(), encoding_of(content))
    try:
        tokens = xml_tokens(text, _XHTML if kind == _CHAPTER else _NCX)
    except MarkupError as error:
        raise FileProblem(f"{before.removesuffix(', ')}: {error}") from error
    yield from token_blocks(tokens, MarkupLanguage.XML, before)
