"""OpenDocument texts, presentations and spreadsheets (OpenDocument 1.3, parts 3 and 4).

Of texts and presentations, paragraphs and headings are read, of headers and footers too. Tables, text boxes,
footnotes, endnotes and notes of slides in them are included. Not read: comments, deleted text, master slides,
embedded objects (charts, formulas), and values that the application fills in.

Of spreadsheets, the texts of cells and shapes are read, and page headers. Not read: formulas and their
results, numbers, dates, names of sheets and ranges, comments, old content of tracked changes, copies of other
files' cells, and embedded objects.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import IO
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, ParagraphFormat, WriteNested, XmlMember, member_elements
from service.formats.entries import FileFormatError
from service.formats.inline_runs import TextRun, collapse_space, enclosed, pair_halves, text_runs
from service.formats.parts import TextPart, Unit, joined
from service.formats.xml_tree import Chars, Element, Miscellaneous, Name, without_attributes
from service.formats.xml_units import xml_units
from service.text.escaping import escape_xml
from service.text.tokens import InlineItem, TokenKind

_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_DRAWING = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
_MANIFEST = "META-INF/manifest.xml"
_ENCRYPTION = Name("urn:oasis:names:tc:opendocument:xmlns:manifest:1.0", "encryption-data")
_UNITS = frozenset([Name(_TEXT, "p"), Name(_TEXT, "h")])
_PRESENTATION = "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
_SLIDE_UNITS = _UNITS | {Name(_PRESENTATION, "header-decl"), Name(_PRESENTATION, "footer-decl")}
UNTRANSLATED = frozenset([Name(_TEXT, "tracked-changes"), Name(OFFICE, "annotation")])
_CONTAINERS = frozenset(["span", "a", "meta"])
_POINTS = frozenset(
    [
        "bookmark", "reference-mark", "change", "change-start", "change-end", "annotation", "annotation-end",
        "note", "alphabetical-index-mark", "toc-mark", "user-index-mark", "script",
    ]
)  # fmt: skip
"""Zero-width elements, and elements that directly follow a word."""
_HALF = re.compile(
    r"(?P<name>bookmark|reference-mark|(?:alphabetical-index|toc|user-index)-mark)-(?P<half>start|end)"
)
_SPACES_NOTE = "spaces:"
_SPACES = re.compile(" {2,}")


class _OpenDocumentFormat(ArchiveFormat):
    """Base of the formats; an entry is the text of a paragraph between two tab stops."""

    kind: str
    """For messages: `an OpenDocument text`."""
    sources: Mapping[str, str] = {"content.xml": "", "styles.xml": "styles.xml, "}
    """Members that hold text, each with the prefix of its locations."""

    @abstractmethod
    def parts(self, before: str, content: IO[bytes]) -> Iterator[TextPart]:
        """Yield the parts of a member whose locations begin so."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        check_document(archive, self.kind)
        return [
            XmlMember(name, partial(self.parts, before))
            for name, before in self.sources.items()
            if name in archive.namelist()
        ]


class OdtFormat(_OpenDocumentFormat):
    """An OpenDocument text."""

    kind = "an OpenDocument text"

    def parts(self, before: str, content: IO[bytes]) -> Iterator[TextPart]:
        return PARAGRAPHS.parts(before, content, untranslated=UNTRANSLATED)


class OdpFormat(_OpenDocumentFormat):
    """An OpenDocument presentation."""

    kind = "an OpenDocument presentation"
    sources: Mapping[str, str] = {"content.xml": ""}

    def parts(self, before: str, content: IO[bytes]) -> Iterator[TextPart]:
        return PARAGRAPHS.parts(before, content, _SLIDE_UNITS, UNTRANSLATED)


def check_document(archive: ZipFile, what: str) -> None:
    """Check that an archive is an OpenDocument file that can be read.

    Raises:
        FileFormatError: it has no content, or is encrypted.
    """
    names = archive.namelist()
    if "content.xml" not in names:
        raise FileFormatError(f"it is not {what}: its member 'content.xml' is missing")
    if _MANIFEST not in names:
        return
    if any(member_elements(archive, _MANIFEST, frozenset([_ENCRYPTION]), allows_doctype=True)):
        raise FileFormatError("it is encrypted; save it without a password")


def _parse_paragraph(element: Element, location: str, write: WriteNested) -> list[TextRun | InlineItem]:
    items = _expand_spaces(_content(element, write), element.prefix)
    return list(text_runs(pair_halves(list(items)), location))


def _content(parent: Element, write: WriteNested) -> Iterator[InlineItem]:
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield InlineItem(TokenKind.TEXT, collapse_space(node.text))
        elif isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
        elif node.name.uri == _TEXT and node.local in _CONTAINERS and node.close:
            yield from enclosed(node.open, _content(node, write), node.close)
        elif node.name == Name(_TEXT, "s"):
            yield InlineItem(TokenKind.POINT, raw=node.raw, note=f"{_SPACES_NOTE}{_num_spaces(node)}")
        elif node.name != Name(_TEXT, "soft-page-break"):  # where a page of the old text ended
            yield _non_text_item(node, PARAGRAPHS.written(node, write))


def _expand_spaces(items: Iterator[InlineItem], prefix: str) -> Iterator[InlineItem]:
    """Turn the first space of a space element into text, unless white space precedes the element."""
    is_after_space = True
    for item in items:
        note = item.note or ""  # that of a bookmark holds its name, which may be anything
        number = note.removeprefix(_SPACES_NOTE) if note.startswith(_SPACES_NOTE) else ""
        if number and not is_after_space:
            yield InlineItem(TokenKind.TEXT, " ")
            num_following = int(number) - 1  # at most 4 digits
            if num_following > 0:
                yield InlineItem(TokenKind.POINT, raw=_spaces(num_following, prefix))
        else:
            yield replace(item, note=None) if number else item
        if item.kind is TokenKind.TEXT and item.text:
            is_after_space = item.text.endswith(" ")
        elif item.kind in {TokenKind.WORD, TokenKind.BREAK}:
            is_after_space = item.ends_line or item.kind is TokenKind.BREAK
        is_after_space = is_after_space or bool(number)


def _spaces(number: int, prefix: str) -> str:
    return f'<{prefix}s {prefix}c="{number}"/>'


def _num_spaces(element: Element) -> int:
    written_count = element.attribute("c", _TEXT) or "1"
    if not written_count.isascii() or not written_count.isdecimal() or len(written_count) > 4:  # noqa: PLR2004 -- up to 9,999 spaces
        raise FileFormatError(f"{element.open[:80]!r} has an invalid number of spaces; save it again")
    return int(written_count)  # at most 4 digits


def _non_text_item(element: Element, raw: str) -> InlineItem:
    """Return the item for an element that is not text."""
    half = _HALF.fullmatch(element.local)
    if half is not None:
        key = element.attribute("name", _TEXT) or element.attribute("id", _TEXT) or ""
        note = f"{'open' if half['half'] == 'start' else 'close'}:{half['name']} {key}"
        return InlineItem(TokenKind.POINT, raw=raw, note=note)
    if element.local == "tab":
        return InlineItem(TokenKind.BREAK, raw=raw)
    if element.local == "line-break":
        return InlineItem(TokenKind.WORD, raw=raw, ends_line=True)
    is_anchored = element.attribute("anchor-type", _TEXT) not in {None, "as-char"}
    kind = TokenKind.POINT if element.local in _POINTS or is_anchored else TokenKind.WORD
    return InlineItem(kind, raw=raw, is_blank=element.name.uri == _DRAWING)


def _write_paragraph(element: Element, items: Sequence[InlineItem]) -> str:
    prefix = element.prefix
    inner = [
        _SPACES.sub(lambda found: f" {_spaces(len(found[0]) - 1, prefix)}", escape_xml(item.text))
        if item.kind is TokenKind.TEXT
        else item.raw
        for item in items
    ]
    return f"{element.open}{''.join(inner)}{element.close}"


PARAGRAPHS = ParagraphFormat(_UNITS, UNTRANSLATED, _parse_paragraph, _write_paragraph)


_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_CELLS = frozenset([Name(_TABLE, "table-cell"), Name(_TABLE, "covered-table-cell")])
_LEFT_ALONE = UNTRANSLATED | {Name(_TABLE, "tracked-changes"), Name(_TABLE, "dde-link")}
_STRING_VALUE = "string-value"


class OdsFormat(_OpenDocumentFormat):
    """An OpenDocument spreadsheet."""

    kind = "an OpenDocument spreadsheet"

    def parts(self, before: str, content: IO[bytes]) -> Iterator[TextPart]:
        cells, others = count(1), count(1)
        units = _CELLS | PARAGRAPHS.paragraphs
        for part in xml_units(content, units, untranslated=_LEFT_ALONE):
            if isinstance(part, str):
                yield part
            elif part.name not in _CELLS:
                yield PARAGRAPHS.passage(part, f"{before}paragraph {next(others)}")
            elif part.nodes:
                yield _cell(part, f"{before}non-empty cell {next(cells)}")
            else:
                yield part.raw


def _cell(cell: Element, location: str) -> TextPart:
    is_text = cell.attribute("value-type", OFFICE) in {None, "string"} and not cell.attribute(
        "formula", _TABLE
    )
    inner: list[TextPart] = []
    for node in cell.nodes:
        is_value = isinstance(node, Element) and node.name in PARAGRAPHS.paragraphs
        if not isinstance(node, Element) or (is_value and not is_text):
            inner.append(node.raw)
        else:
            inner.append(PARAGRAPHS.inside(node, location))
    content = joined(inner)
    if not content.entries:
        return cell.raw
    # The value of a text cell is its paragraphs, unless an attribute repeats it.
    opened = cell.open
    if is_text and cell.attribute(_STRING_VALUE, OFFICE) is not None:
        opened = without_attributes(opened, {_STRING_VALUE})
    return Unit(content.entries, lambda texts: f"{opened}{content.write(texts)}{cell.close}", cell.raw)
