"""Word documents (ECMA-376, parts 1 and 2): paragraphs with the formatting of their words.

Translated: body text, headers, footers, footnotes and endnotes, with tables and text boxes in them. Not
translated: comments, deleted text, formulas, charts, and values that the application fills in (page numbers).

Members without text keep their content, and unchanged paragraphs stay as they are. A changed paragraph is
written with as few runs as it has formats.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, ParagraphFormat, WriteNested, XmlMember
from service.formats.entries import FileFormatError
from service.formats.inline_runs import TextRun, enclosed, pair_halves, text_runs
from service.formats.office_packages import read_package
from service.formats.styled_runs import styled_items, text_items, wrap_styles, written_text
from service.formats.xml_tree import Chars, Element, Miscellaneous, Name
from service.text.tokens import InlineItem, TokenKind, refers_to_note

FIELD_NOTE = "field:"
"""Prefix of `begin`, `separate`, `end` and `code` in the notes of field marks, which are breaks."""
_TRANSLATED_FIELDS = ("HYPERLINK",)
"""Fields whose result is the author's text."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """Positions of fields' end and separator marks, by the position of a begin mark in the same element."""

    ends: dict[int, int]
    separators: dict[int, int]


def collapse_fields(
    items: Sequence[InlineItem], write_items: Callable[[Sequence[InlineItem]], str]
) -> list[InlineItem]:
    """Replace each field by a word, or by an element around its result if the result is translated.

    Marks of fields that begin or end in another paragraph stay breaks.
    """
    marks = _marks(items)
    result: list[InlineItem] = []
    translated_ends: set[int] = set()
    i = 0
    while i < len(items):
        end, separator = marks.ends.get(i), marks.separators.get(i)
        if i in translated_ends:
            result.append(InlineItem(TokenKind.CLOSE, raw=items[i].raw))
        elif end is None:
            result.append(items[i])
        elif separator is not None and _code(items[i:separator]).startswith(_TRANSLATED_FIELDS):
            result.append(InlineItem(TokenKind.OPEN, raw=write_items(items[i : separator + 1])))
            translated_ends.add(end)
            i = separator
        else:
            result.append(InlineItem(TokenKind.WORD, raw=write_items(items[i : end + 1])))
            i = end
        i += 1
    return result


def _marks(items: Sequence[InlineItem]) -> _Marks:
    marks = _Marks({}, {})
    parents = [-1]
    open_fields: list[tuple[int, int]] = []
    for i, item in enumerate(items):
        if item.kind is TokenKind.OPEN:
            parents.append(i)
        elif item.kind is TokenKind.CLOSE:
            parents.pop()
        elif item.note == f"{FIELD_NOTE}begin":
            open_fields.append((i, parents[-1]))
        elif open_fields and open_fields[-1][1] == parents[-1] and item.note == f"{FIELD_NOTE}separate":
            marks.separators.setdefault(open_fields[-1][0], i)
        elif open_fields and item.note == f"{FIELD_NOTE}end":
            start, parent = open_fields.pop()
            if parent == parents[-1]:
                marks.ends[start] = i
    return marks


def _code(items: Sequence[InlineItem]) -> str:
    return "".join(item.text for item in items if item.note == f"{FIELD_NOTE}code").strip()


WORD_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)


def _word_names(*names: str) -> frozenset[Name]:
    return frozenset(Name(uri, name) for uri in WORD_NAMESPACES for name in names)


_CONTAINERS = frozenset(["hyperlink", "ins", "moveTo", "smartTag", "customXml", "dir", "bdo", "sdt"])
_PROPERTIES = frozenset(["sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"])
_RANGE_MARKS = {
    f"{name}{end}": f"{note}:{name}"
    for name in ("bookmark", "commentRange", "perm", "moveToRange")
    for end, note in (("Start", "open"), ("End", "close"))
}
"""Notes for the elements that begin or end a range."""
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak"])
"""Elements that applications derived from the old text."""
_POINTS = frozenset(
    [
        "footnoteReference", "endnoteReference", "commentReference", "footnoteRef", "endnoteRef",
        "annotationRef", "separator", "continuationSeparator", "del", "moveFrom", "delText",
        "moveFromRangeStart", "moveFromRangeEnd", "delInstrText",
    ]
)  # fmt: skip
"""Zero-width elements; unknown elements count as words."""
_HYPHENS = {"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_IRRELEVANT_PROPERTIES = frozenset(["lang", "noProof", "rPrChange"])
"""Run properties that do not affect the look of a translation."""
_VISIBLE_ON_SPACE = re.compile(":(?:u|strike|dstrike|highlight|shd|bdr)[ /]")
"""Run properties that are visible on white space."""
_RAISED = re.compile(r":vertAlign\s[^<>]{0,99}\"superscript\"")


def _parse_paragraph(element: Element, location: str, write: WriteNested) -> list[TextRun | InlineItem]:
    content = _with_notes(_content(element, write), element.prefix)
    items = pair_halves(collapse_fields(list(content), lambda found: _write_items(found, element.prefix)))
    return list(text_runs(wrap_styles(items, _VISIBLE_ON_SPACE.search), location))


def _with_notes(items: Iterable[InlineItem], prefix: str) -> Iterator[InlineItem]:
    """Yield items with raised references to notes as points."""
    before = ""
    for item in items:
        is_raised = item.kind is TokenKind.TEXT and _RAISED.search(item.note or "")
        if is_raised and refers_to_note(item.text, before):
            yield InlineItem(TokenKind.POINT, raw=_write_items([item], prefix))
            continue
        before = item.text
        yield item


def _write_paragraph(element: Element, items: Sequence[InlineItem]) -> str:
    lead = "".join(child.raw for child in element.children("pPr"))
    return f"{element.open}{lead}{_write_items(items, element.prefix)}{element.close}"


def _write_items(items: Sequence[InlineItem], prefix: str) -> str:
    written: list[str] = []
    for item, style in styled_items(items):
        if item.kind is not TokenKind.TEXT:
            written.append(item.raw)
        elif item.text:
            written.append(f"<{prefix}r>{style}{written_text(prefix, item.text)}</{prefix}r>")
    return "".join(written)


def _content(parent: Element, write: WriteNested) -> Iterator[InlineItem]:
    """Yield the content of a paragraph or run container; the note of a text is its run's properties."""
    for node in parent.nodes:
        if isinstance(node, Chars):
            continue  # line ends of pretty printers
        if isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
        elif node.local == "r":
            yield from _run(node, write)
        elif node.local in _CONTAINERS and node.close:
            yield from _container(node, write)
        elif node.local not in _DROPPED and node.local != "pPr" and node.local not in _PROPERTIES:
            yield _non_text_item(node, PARAGRAPHS.written(node, write))


def _container(element: Element, write: WriteNested) -> Iterator[InlineItem]:
    inner = element.child("sdtContent")
    properties = "".join(child.raw for child in element.elements if child.local in _PROPERTIES)
    if element.local != "sdt":
        yield from enclosed(element.open + properties, _content(element, write), element.close)
    elif inner is None or not inner.close:
        yield InlineItem(TokenKind.POINT, raw=element.raw)
    else:
        opening, closing = element.open + properties + inner.open, inner.close + element.close
        yield from enclosed(opening, _content(inner, write), closing)


def _run(run: Element, write: WriteNested) -> Iterator[InlineItem]:
    properties = run.child("rPr")
    style = "" if properties is None else _style(properties)
    lead = run.open + ("" if properties is None else properties.raw)
    for node in run.nodes:
        if isinstance(node, Chars) or node is properties:
            continue
        if isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=f"{run.open}{node.raw}{run.close}")
        elif node.local == "t":
            yield from text_items(
                node.text, style, lambda spaces: f"{lead}{written_text(run.prefix, spaces)}{run.close}"
            )
        elif node.local in _HYPHENS:
            yield InlineItem(TokenKind.TEXT, _HYPHENS[node.local], note=style)
        elif node.local not in _DROPPED:
            yield _non_text_item(node, f"{lead}{PARAGRAPHS.written(node, write)}{run.close}")


def _style(properties: Element) -> str:
    kept = [child.raw for child in properties.elements if child.local not in _IRRELEVANT_PROPERTIES]
    return f"{properties.open}{''.join(kept)}{properties.close}" if kept else ""


def _non_text_item(element: Element, raw: str) -> InlineItem:
    """Return the item for an element that is not text."""
    local = element.local
    if local in {"fldChar", "instrText"}:
        kind = next(
            (value for name, value in element.attributes.items() if name.local == "fldCharType"), "code"
        )
        return InlineItem(TokenKind.BREAK, element.text, raw, f"{FIELD_NOTE}{kind}")
    if local in _RANGE_MARKS:
        key = next((value for name, value in element.attributes.items() if name.local == "id"), "")
        return InlineItem(TokenKind.POINT, raw=raw, note=f"{_RANGE_MARKS[local]} {key}")
    if local in {"tab", "ptab"}:
        return InlineItem(TokenKind.BREAK, raw=raw)
    if local in {"br", "cr"}:
        is_line = not {"page", "column"} & set(element.attributes.values())
        return InlineItem(TokenKind.WORD if is_line else TokenKind.BREAK, raw=raw, ends_line=is_line)
    is_anchored = any(inner.local == "anchor" for inner in _descendants(element))
    return InlineItem(TokenKind.POINT if local in _POINTS or is_anchored else TokenKind.WORD, raw=raw)


def _descendants(element: Element) -> Iterator[Element]:
    for child in element.elements:
        yield child
        yield from _descendants(child)


PARAGRAPHS = ParagraphFormat(
    _word_names("p"), _word_names("del", "moveFrom"), _parse_paragraph, _write_paragraph
)


_MAIN = (".document.main+xml", ".template.main+xml", ".document.macroenabled.main+xml")
_OTHER_TEXT_PARTS = (".header+xml", ".footer+xml", ".footnotes+xml", ".endnotes+xml")


class DocxFormat(ArchiveFormat):
    """A Word document; an entry is the text of a paragraph between two tab stops."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        package = read_package(archive, "a Word document")
        main = package.members(_MAIN)
        if not main:
            raise FileFormatError("it contains no text document; save it as .docx")
        before = dict.fromkeys(main, "") | {name: f"{name}, " for name in package.members(_OTHER_TEXT_PARTS)}
        return [XmlMember(name, partial(PARAGRAPHS.parts, location)) for name, location in before.items()]
