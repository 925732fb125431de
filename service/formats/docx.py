"""Word documents (ECMA-376, parts 1 and 2): paragraphs with the formatting of their words.

Translated: body text, headers, footers, footnotes and endnotes, with tables and text boxes in them. Not
translated: comments, deleted text, formulas, charts, and values that the application fills in (page numbers).

Members without text keep their content, and unchanged paragraphs stay as they are. A changed paragraph is
written with as few runs as it has formats.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import IO, BinaryIO
from zipfile import ZipFile

from service.formats.archives import XmlMember, read_entries, write_archive
from service.formats.docx_paragraphs import PARAGRAPHS, WORD_NAMESPACES
from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileFormatError
from service.formats.text_units import TextUnit
from service.formats.xml_units import Element, Name, xml_units

_CONTENT_TYPES = "[Content_Types].xml"
_OVERRIDE = Name("http://schemas.openxmlformats.org/package/2006/content-types", "Override")
_MAIN = (".document.main+xml", ".template.main+xml", ".document.macroenabled.main+xml")
_OTHER_TEXT_PARTS = (".header+xml", ".footer+xml", ".footnotes+xml", ".endnotes+xml")
_UNITS = frozenset(Name(uri, "p") for uri in WORD_NAMESPACES)


class DocxFormat:
    """A Word document; an entry is the text of a paragraph between two tab stops."""

    def __init__(self, options: FileOptions) -> None:
        """Ignore the options: the format has none."""
        del options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return read_entries(source, _members)

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        write_archive(source, texts, target, _members)


def _members(archive: ZipFile) -> Sequence[XmlMember]:
    main: list[str] = []
    others: list[str] = []
    names = frozenset(archive.namelist())
    if _CONTENT_TYPES not in names:
        raise FileFormatError(f"it is not a Word document: {_CONTENT_TYPES} is missing")
    with archive.open(_CONTENT_TYPES) as content:
        for part in xml_units(content, frozenset([_OVERRIDE])):
            if isinstance(part, Element):
                kind = (part.attribute("ContentType") or "").lower()
                name = (part.attribute("PartName") or "").removeprefix("/")
                if kind.endswith(_MAIN):
                    main.append(name)
                elif kind.endswith(_OTHER_TEXT_PARTS):
                    others.append(name)
    if not main:
        raise FileFormatError("it contains no text document; save it as .docx")
    before = dict.fromkeys(main, "") | {name: f"{name}, " for name in sorted(others)}
    for name in before:
        if name not in names:
            raise FileFormatError(f"it is not a Word document: its member {name!r} is missing")
    return [XmlMember(name, partial(_parts, place)) for name, place in before.items()]


def _parts(before: str, content: IO[bytes]) -> Iterator[str | TextUnit]:
    numbers = count(1)
    for part in xml_units(content, _UNITS):
        yield (
            part if isinstance(part, str) else PARAGRAPHS.passage(part, f"{before}paragraph {next(numbers)}")
        )
