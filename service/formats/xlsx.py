"""Excel workbooks (ECMA-376): texts of cells, of shapes, and titles of charts.

Not translated: formulas and their results, numbers, dates, names of sheets, ranges and columns of
tables, which formulas refer to, items of drop-down lists and cells that hold one, page headers, comments, and
rules of validation, filters and formats. Members
without text keep their content, and unchanged texts stay as they are.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from html import unescape
from itertools import count
from typing import IO
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, XmlMember, member_elements
from service.formats.drawing_text import DRAWINGS, PARAGRAPHS
from service.formats.encodings import UTF_8
from service.formats.entries import FileFormatError, TargetText
from service.formats.inline_runs import entries_in, fill_runs, text_runs
from service.formats.office_packages import OfficePackage, read_package
from service.formats.parts import TextPart, Unit
from service.formats.styled_runs import styled_items, text_items, wrap_styles, written_text
from service.formats.xml_tree import Element, Miscellaneous, Name
from service.formats.xml_units import encoding_of, xml_units
from service.text.tokens import InlineItem, TokenKind

MAX_CELL_CHARACTERS = 32_767
"""Maximum length of a cell's text in Excel."""

_MAIN = (
    "spreadsheetml.sheet.main+xml", "spreadsheetml.template.main+xml",
    "excel.sheet.macroenabled.main+xml", "excel.template.macroenabled.main+xml",
)  # fmt: skip
_SHARED_STRINGS = (".sharedstrings+xml",)
_SHEETS = (".worksheet+xml",)
_TABLES = ("spreadsheetml.table+xml",)
_DRAWINGS = (".drawing+xml", *DRAWINGS)
_NAMESPACES = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
)
_INLINE = b"inlineStr"
"""Type of a cell that holds its text itself."""
_VALIDATION = b"dataValidation"
_VALIDATIONS = frozenset(
    Name(uri, "dataValidation")
    for uri in (*_NAMESPACES, "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main")
)
_LITERAL_LIST = re.compile(r"formula1\s*>\s*(?:<(?:\w+:)?f\s*>\s*)?\"((?:[^\"<>]|\"\"){0,300}+)\"\s*<")
"""List of a validation with the items in it, `"Ja,Nein"`; others name cells."""
_CHUNK_BYTES = 1 << 16
_STRINGS = frozenset(Name(uri, name) for uri in _NAMESPACES for name in ("si", "is"))
_COLUMNS = frozenset(Name(uri, "tableColumn") for uri in _NAMESPACES)
_VISIBLE_ON_SPACE = re.compile(r"<(?:\w+:)?(?:u|strike)\b")
"""Run properties that are visible on white space."""
_MARKS = re.compile(r"(\n|\t|_x[0-9A-Fa-f]{4}_)")
"""Line breaks, tabs, and characters that are written as their number."""
_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Underscore of a text that would be read as such a number."""
_UNDERSCORE = "_x005F_"


class XlsxFormat(ArchiveFormat):
    """An Excel workbook; an entry is the text of a cell, or of a paragraph in a shape."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        package = read_package(archive, "an Excel workbook")
        if not package.members(_MAIN):
            raise FileFormatError("it contains no workbook; save it as .xlsx")
        names = package.members(_SHEETS)
        sheets = [name for name in names if _may_contain(archive, name, _INLINE)]
        strings = package.members(_SHARED_STRINGS) + sheets
        kept = _column_names(package).union(
            *(_list_items(archive, name) for name in names if _may_contain(archive, name, _VALIDATION))
        )
        return [XmlMember(name, partial(_strings, f"{name}, ", kept)) for name in strings] + [
            XmlMember(name, partial(PARAGRAPHS.parts, f"{name}, ")) for name in package.members(_DRAWINGS)
        ]


def _may_contain(archive: ZipFile, name: str, wanted: bytes) -> bool:
    """Return whether a sheet may contain a word of XML; other sheets, which may be large, are not parsed."""
    with archive.open(name) as content:
        if encoding_of(content) != UTF_8:
            return True
        before = b""
        while chunk := content.read(_CHUNK_BYTES):
            if wanted in before + chunk:
                return True
            before = chunk[-len(wanted) :]
    return False


def _list_items(archive: ZipFile, name: str) -> Iterator[str]:
    """Yield the items of a sheet's drop-down lists: a cell whose value is none of them would be invalid."""
    for part in member_elements(archive, name, _VALIDATIONS):
        found = _LITERAL_LIST.search(unescape(part.inner)) if part.attribute("type") == "list" else None
        for item in found[1].split(",") if found else ():
            yield _folded(item.replace('""', '"'))


def _column_names(package: OfficePackage) -> frozenset[str]:
    """Return the names of columns of all tables: Excel calls a file damaged whose header cells differ."""
    return frozenset(
        _folded(column.attribute("name") or "")
        for member in package.members(_TABLES)
        for column in member_elements(package.archive, member, _COLUMNS)
    )


def _folded(text: str) -> str:
    """Return a text with each run of white space, which tables and cells write differently, as one space."""
    return " ".join("".join(_plain(piece) for piece in _MARKS.split(text)).split())


def _plain(piece: str) -> str:
    if piece.upper() == _UNDERSCORE.upper():
        return "_"
    return " " if _MARKS.fullmatch(piece) else piece


def _strings(before: str, kept: frozenset[str], content: IO[bytes]) -> Iterator[TextPart]:
    numbers = count(1)
    for part in xml_units(content, _STRINGS):
        yield part if isinstance(part, str) else _string(part, kept, f"{before}string {next(numbers)}")


def _string(element: Element, kept: frozenset[str], location: str) -> TextPart:
    items = list(_content(element))
    if _folded("".join(item.text or item.raw for item in items)) in kept:
        return element.raw
    found = list(text_runs(wrap_styles(items, _VISIBLE_ON_SPACE.search), location))

    def render(texts: Sequence[TargetText]) -> str:
        return _write_string(element, fill_runs(found, texts), location)

    return Unit(entries_in(found), render, element.raw)


def _content(parent: Element) -> Iterator[InlineItem]:
    """Yield the text of a string; the note of a text is its format. Other items are characters that stay."""
    for node in parent.elements:
        if node.local == "t":
            yield from _texts(node, "")
        elif node.local == "r":
            style = "".join(child.raw for child in node.children("rPr"))
            for text in node.children("t"):
                yield from _texts(text, style)


def _texts(element: Element, style: str) -> Iterator[InlineItem]:
    for i, piece in enumerate(_MARKS.split(element.text)):
        if i % 2:
            yield _mark(piece, style)
            continue
        yield from text_items(piece, style, str)


def _mark(piece: str, style: str) -> InlineItem:
    if piece == "\n":
        return InlineItem(TokenKind.WORD, raw=piece, ends_line=True)
    if _plain(piece) == "_":
        return InlineItem(TokenKind.TEXT, "_", note=style)
    return InlineItem(TokenKind.BREAK if piece == "\t" else TokenKind.POINT, raw=piece)


def _write_string(element: Element, items: Sequence[InlineItem], location: str) -> str:
    """Return a string with other text, without its phonetic readings (`rPh`), which belong to the old one."""
    pieces: list[tuple[str, list[str]]] = []
    size = 0
    for item, style in styled_items(items):
        text = _ESCAPED.sub(_UNDERSCORE, item.text) if item.kind is TokenKind.TEXT else item.raw
        if text and pieces and pieces[-1][0] == style:
            pieces[-1][1].append(text)
        elif text:
            pieces.append((style, [text]))
        size += len((item.text or item.raw).encode("utf-16-le")) // 2
    if size > MAX_CELL_CHARACTERS:
        raise FileFormatError(
            f"{location}: its translation has {size:,} characters; the limit of a cell in Excel is "
            f"{MAX_CELL_CHARACTERS:,}; split the text"
        )
    texts = [(style, written_text(element.prefix, "".join(parts))) for style, parts in pieces]
    if any(style for style, _ in texts):
        prefix = element.prefix
        written = "".join(f"<{prefix}r>{style}{text}</{prefix}r>" for style, text in texts)
    else:
        written = texts[0][1] if texts else written_text(element.prefix, "")
    kept = [node.raw for node in element.nodes if isinstance(node, Miscellaneous)]
    kept += [node.raw for node in element.children("phoneticPr")]
    return f"{element.open}{written}{''.join(kept)}{element.close}"
