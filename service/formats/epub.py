"""EPUB books, and pages in XML: the chapters in a package's manifest, the table of contents, and the title.

In changed text, language tags of the source language become those of the target language, and so does the
language of the book. Specification: EPUB 3.3, and OPF 2.0.1 for older books.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import IO
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, XmlMember, member_elements
from service.formats.entries import Entry, FileFormatError, FileOptions, TargetText
from service.formats.inline_runs import collapse_space, token_blocks
from service.formats.language_tags import matches_language, replace_language_tags
from service.formats.parts import TextFormat, TextPart, Unit, decode, encode, joined
from service.formats.xml_tree import Element, Name
from service.formats.xml_units import encoding_of, xml_units
from service.text.escaping import escape_xml
from service.text.html_names import BLOCKS, IGNORED
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_tokens import xml_tokens

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_ROOTFILE = Name("urn:oasis:names:tc:opendocument:xmlns:container", "rootfile")
_ITEM = Name("http://www.idpf.org/2007/opf", "item")
_TITLE = Name("http://purl.org/dc/elements/1.1/", "title")
_LANGUAGE = Name("http://purl.org/dc/elements/1.1/", "language")
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


class EpubFormat(ArchiveFormat):
    """A book; an entry is a block of running text of a chapter, or a title of the book."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        return _Book(self.options).members(archive)


class XhtmlFormat(TextFormat):
    """A page in XML, read as a chapter of a book."""

    def parse(self, source: IO[bytes]) -> tuple[Iterable[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        encoding = encoding_of(source)
        return _Book(self.options).chapter("", _CHAPTER, source), partial(encode, encoding=encoding)


@dataclass(slots=True)
class _Book:
    """A book while it is read or written."""

    options: FileOptions
    is_changed: bool = False
    """Whether any text written so far differs from the original."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """Return the chapters, then the packages: their language depends on whether chapters changed."""
        names = frozenset(archive.namelist())
        packages = [
            path
            for path, kind in _attributes(archive, names, _CONTAINER, _ROOTFILE, ("full-path", "media-type"))
            if kind == _PACKAGE
        ]
        members = {
            name: XmlMember(name, partial(self.chapter, f"{name}, ", kind))
            for package in packages
            for name, kind in _chapters(archive, names, package)
        }
        if not members:
            raise FileFormatError("it is not a book: it lists no chapters; save it again")
        members |= {name: XmlMember(name, partial(self._package, f"{name}, ")) for name in packages}
        return list(members.values())

    def chapter(self, before: str, kind: str, content: IO[bytes]) -> Iterator[TextPart]:
        """Yield the only part of a chapter, or of the book's contents."""
        encoding = encoding_of(content)
        text = decode(content.read(), encoding)
        try:
            tokens = xml_tokens(text, _XHTML if kind == _CHAPTER else _NCX)
        except MarkupError as error:
            raise FileFormatError(f"{before.removesuffix(', ')}: {error}".removeprefix(": ")) from error
        chapter = joined(token_blocks(tokens, MarkupLanguage.XML, before))

        def render(texts: Sequence[TargetText]) -> str:
            self.is_changed = True
            return self._in_target(chapter.render(texts))

        yield Unit(chapter.entries, render, text)

    def _package(self, before: str, content: IO[bytes]) -> Iterator[TextPart]:
        numbers = count(1)
        for part in xml_units(content, frozenset([_TITLE, _LANGUAGE]), allows_doctype=True):
            if isinstance(part, str):
                yield Unit((), partial(self._if_changed, part, self._in_target(part)))
            elif part.name == _TITLE:
                yield self._title(part, f"{before}title {next(numbers)}")
            else:
                is_source = matches_language(part.text, self.options.source)
                replacement = f"{part.open}{self.options.target}{part.close}" if is_source else part.raw
                yield Unit((), partial(self._if_changed, part.raw, replacement))

    def _title(self, title: Element, location: str) -> TextPart:
        text = collapse_space(title.text).strip()
        if not text or title.elements:
            return title.raw

        def render(texts: Sequence[TargetText]) -> str:
            self.is_changed = True
            return f"{self._in_target(title.open)}{escape_xml(collapse_space(texts[0].text))}{title.close}"

        return Unit((Entry(text, location),), render, title.raw)

    def _if_changed(self, original: str, replacement: str, _: Sequence[TargetText]) -> str:
        return replacement if self.is_changed else original

    def _in_target(self, markup: str) -> str:
        return replace_language_tags(markup, self.options.source, self.options.target)


def _chapters(archive: ZipFile, names: frozenset[str], package: str) -> Iterator[tuple[str, str]]:
    """Yield the name and media type of each member that holds text."""
    encrypted = _encrypted_members(archive, names)
    folder = posixpath.dirname(package)
    for href, kind in _attributes(archive, names, package, _ITEM, ("href", "media-type")):
        if kind not in {_CHAPTER, _CONTENTS} or urlsplit(href).netloc:
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(urlsplit(href).path)))
        if name not in names:
            raise FileFormatError(f"its member {name!r} is missing; save it again")
        if name in encrypted:
            raise FileFormatError(f"its member {name!r} is encrypted; save the book without protection")
        yield name, kind


def _attributes(
    archive: ZipFile, names: frozenset[str], member: str, element: Name, wanted: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    if member not in names:
        raise FileFormatError(f"it is not a book: its member {member!r} is missing")
    for found in member_elements(archive, member, frozenset([element]), allows_doctype=True):
        yield found.attribute(wanted[0]) or "", found.attribute(wanted[1]) or ""


def _encrypted_members(archive: ZipFile, names: frozenset[str]) -> frozenset[str]:
    """Return the members that are encrypted individually; fonts often are."""
    if _ENCRYPTION not in names:
        return frozenset()
    ciphers = member_elements(archive, _ENCRYPTION, frozenset([_CIPHER]))
    return frozenset(unquote(cipher.attribute("URI") or "") for cipher in ciphers)
