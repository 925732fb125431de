"""OpenDocument spreadsheets: texts of cells and shapes, and page headers (OpenDocument 1.3, parts 3 and 4).

Not read: formulas and their results, numbers, dates, names of sheets and ranges, comments, old content of
tracked changes, copies of other files' cells, and embedded objects.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import IO
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, XmlMember
from service.formats.odt import OFFICE, PARAGRAPHS, UNTRANSLATED, check_document
from service.formats.parts import TextPart, Unit, joined
from service.formats.xml_attributes import without_attributes
from service.formats.xml_tree import Element, Name
from service.formats.xml_units import xml_units

_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_CELLS = frozenset([Name(_TABLE, "table-cell"), Name(_TABLE, "covered-table-cell")])
_LEFT_ALONE = UNTRANSLATED | {Name(_TABLE, "tracked-changes"), Name(_TABLE, "dde-link")}
_STRING_VALUE = "string-value"


class OdsFormat(ArchiveFormat):
    """An OpenDocument spreadsheet; an entry is the text of a paragraph between two tab stops."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        check_document(archive, "an OpenDocument spreadsheet")
        return [
            XmlMember(name, partial(_parts, before))
            for name, before in (("content.xml", ""), ("styles.xml", "styles.xml, "))
            if name in archive.namelist()
        ]


def _parts(before: str, content: IO[bytes]) -> Iterator[TextPart]:
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


def _cell(cell: Element, place: str) -> TextPart:
    is_text = cell.attribute("value-type", OFFICE) in {None, "string"} and not cell.attribute(
        "formula", _TABLE
    )
    inner: list[TextPart] = []
    for node in cell.nodes:
        is_value = isinstance(node, Element) and node.name in PARAGRAPHS.paragraphs
        if not isinstance(node, Element) or (is_value and not is_text):
            inner.append(node.raw)
        else:
            inner.append(PARAGRAPHS.inside(node, place))
    content = joined(inner)
    if not content.entries:
        return cell.raw
    # The value of a text cell is its paragraphs, unless an attribute repeats it.
    opened = cell.open
    if is_text and cell.attribute(_STRING_VALUE, OFFICE) is not None:
        opened = without_attributes(opened, {_STRING_VALUE})
    return Unit(content.entries, lambda texts: f"{opened}{content.write(texts)}{cell.close}", cell.raw)
