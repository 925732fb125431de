"""Text of DrawingML (ECMA-376, part 1, section 21): paragraphs of slides, shapes, tables and charts.

Values that the application fills in (page numbers, dates) and formulas stay. A changed paragraph is written
with as few runs as it has formats.
"""

import re
from collections.abc import Iterator, Sequence

from service.formats.archives import ParagraphFormat, WriteNested
from service.formats.inline_runs import TextRun, text_runs
from service.formats.styled_runs import styled_items, text_items, wrap_styles
from service.formats.xml_tree import Chars, Element, Miscellaneous, Name, without_attributes
from service.text.escaping import escape_xml
from service.text.tokens import InlineItem, TokenKind

DRAWINGS = (".drawingml.chart+xml", ".chartshapes+xml", ".diagramdata+xml", ".diagramdrawing+xml")
"""Endings of content types of charts and diagrams. A diagram's drawing repeats the text of its data."""

_NAMESPACES = (
    "http://schemas.openxmlformats.org/drawingml/2006/main",
    "http://purl.oclc.org/ooxml/drawingml/main",
)
_PROPERTIES = frozenset(["pPr", "endParaRPr"])
_IRRELEVANT_ATTRIBUTES = frozenset(["lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId"])
"""Attributes of a run's properties that do not affect the look of a translation."""
_VISIBLE_ON_SPACE = re.compile(r"\b(?:u|strike)\s*=|:highlight\b|:hlink")
"""Run properties that are visible on white space."""
_TABS_AND_ESCAPES = re.compile(r"(\t|_x[0-9A-Fa-f]{4}_)")
"""Tabs, and characters that PowerPoint writes as their number: they stay."""


def _parse_paragraph(element: Element, location: str, write: WriteNested) -> list[TextRun | InlineItem]:
    return list(text_runs(wrap_styles(list(_content(element, write)), _VISIBLE_ON_SPACE.search), location))


def _content(paragraph: Element, write: WriteNested) -> Iterator[InlineItem]:
    for node in paragraph.nodes:
        if isinstance(node, Chars):
            continue  # line ends of pretty printers
        if isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
        elif node.local == "r":
            yield from _run(node)
        elif node.local == "br":
            yield InlineItem(TokenKind.WORD, raw=node.raw, ends_line=True)
        elif node.local not in _PROPERTIES:
            yield InlineItem(TokenKind.WORD, raw=PARAGRAPHS.written(node, write))


def _run(run: Element) -> Iterator[InlineItem]:
    properties = run.child("rPr")
    kept = "" if properties is None else properties.raw
    style = "" if properties is None else _style(properties)
    for node in run.nodes:
        if isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
        elif isinstance(node, Element) and node.local == "t":
            for i, piece in enumerate(_TABS_AND_ESCAPES.split(node.text)):
                if i % 2:
                    kind = TokenKind.BREAK if piece == "\t" else TokenKind.POINT
                    yield InlineItem(kind, raw=_written_run(run.prefix, kept, piece))
                    continue
                yield from text_items(piece, style, lambda spaces: _written_run(run.prefix, kept, spaces))


def _style(properties: Element) -> str:
    inner = properties.inner
    opened = without_attributes(properties.open, _IRRELEVANT_ATTRIBUTES)
    is_empty = not inner.strip() and not re.search(r"\s[^\s/>]", opened)
    return "" if is_empty else f"{opened}{inner}{properties.close}"


def _write_paragraph(element: Element, items: Sequence[InlineItem]) -> str:
    written = [
        _written_run(element.prefix, style, item.text) if item.kind is TokenKind.TEXT else item.raw
        for item, style in styled_items(items)
    ]
    lead = "".join(child.raw for child in element.children("pPr"))
    end = "".join(child.raw for child in element.children("endParaRPr"))
    return f"{element.open}{lead}{''.join(written)}{end}{element.close}"


def _written_run(prefix: str, style: str, text: str) -> str:
    return f"<{prefix}r>{style}<{prefix}t>{escape_xml(text)}</{prefix}t></{prefix}r>" if text else ""


PARAGRAPHS = ParagraphFormat(
    frozenset(Name(uri, "p") for uri in _NAMESPACES), frozenset(), _parse_paragraph, _write_paragraph
)
