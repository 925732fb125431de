"""Word documents: their paragraphs, wherever they stand, in the formats that their words have.

Read: the text itself, headers, footers, footnotes and endnotes; in them tables and text boxes too. Not read:
comments, deleted text, formulas, charts, and what the program that shows a document fills in (page numbers).

Members that hold no text keep their content, and so do paragraphs that did not change. One that changed is
written in as few runs as it has formats. Specification: ECMA-376, parts 1 and 2.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import IO, BinaryIO
from zipfile import ZipFile

from service.formats.archives import XmlMember, read_entries, write_archive
from service.formats.docx_paragraphs import PARAGRAPHS, WORD_NAMESPACES
from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileProblem
from service.formats.text_units import TextUnit
from service.formats.xml_units import Element, Name, xml_units

_CONTENT_TYPES = "[Content_Types].xml"
_OVERRIDE = Name("http://schemas.openxmlformats.org/package/2006/content-types", "Override")
_MAIN = (".document.main+xml", ".template.main+xml", ".document.macroenabled.main+xml")
_OTHERS = (".header+xml", ".footer+xml", ".footnotes+xml", ".endnotes+xml")
_UNITS = frozenset(Name(uri, "p") for uri in WORD_NAMESPACES)


class DocxFormat:
    """An entry is what stands in a paragraph between tab stops."""

    def __init__(self, options: FileOptions) -> None:
        """Nothing about documents can be chosen."""
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
    there = frozenset(archive.namelist())
    if _CONTENT_TYPES not in there:
        raise FileProblem(f"it has no {_CONTENT_TYPES}, so it is no Word document")
    with archive.open(_CONTENT_TYPES) as content:
        for part in xml_units(content, frozenset([_OVERRIDE])):
            if isinstance(part, Element):
                kind = (part.attribute("ContentType") or "").lower()
                name = (part.attribute("PartName") or "").removeprefix("/")
                if kind.endswith(_MAIN):
                    main.append(name)
                elif kind.endswith(_OTHERS):
                    others.append(name)
    if not main:
        raise FileProblem("there is no text document in it; save it as .docx")
    before = dict.fromkeys(main, "") | {name: f"{name}, " for name in sorted(others)}
    for name in before:
        if name not in there:
            raise FileProblem(f"its member {name!r} is missing, without which it is no Word document")
    return [XmlMember(name, partial(_parts, place)) for name, place in before.items()]


def _parts(before: str, content: IO[bytes]) -> Iterator[str | TextUnit]:
    numbers = count(1)
    for part in xml_units(content, _UNITS):
        yield (
            part if isinstance(part, str) else PARAGRAPHS.passage(part, f"{before}paragraph {next(numbers)}")
        )
