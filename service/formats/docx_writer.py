"""Writes simple Word documents (ECMA-376, part 1): paragraphs, headings, and rows of words at tab stops."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from service.formats.pdf_lines import StyledText
from service.formats.pdf_paragraphs import Paragraph
from service.text.escaping import escape_xml

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_PACKAGES = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    f'{_HEAD}<Types xmlns="{_PACKAGES}/content-types">'
    f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_OFFICE_TYPE}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_OFFICE_TYPE}.styles+xml"/></Types>'
)
_PACKAGE_LINKS = (
    f'{_HEAD}<Relationships xmlns="{_PACKAGES}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>'
)
_DOCUMENT_LINKS = (
    f'{_HEAD}<Relationships xmlns="{_PACKAGES}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>'
)
_HEADING_HALF_POINTS = {1: 32, 2: 26, 3: 24}
_STYLES = (
    f'{_HEAD}<w:styles {_WORD}><w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val="22"/></w:rPr></w:rPrDefault>'
    '<w:pPrDefault><w:pPr><w:spacing w:after="120"/></w:pPr></w:pPrDefault></w:docDefaults>'
    '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    + "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        '<w:basedOn w:val="Normal"/><w:next w:val="Normal"/>'
        f'<w:pPr><w:keepNext/><w:spacing w:before="240"/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        f'<w:rPr><w:b/><w:sz w:val="{half_points}"/></w:rPr></w:style>'
        for level, half_points in _HEADING_HALF_POINTS.items()
    )
    + "</w:styles>"
)
_TIME = (1980, 1, 1, 0, 0, 0)
"""The oldest that archives can have: the same PDF gives the same document."""
_TWIPS_PER_POINT = 20
_MAX_TAB_STOP = 31_680
"""In twips: 22 inches, the most that Word accepts."""


def write_docx(paragraphs: Iterable[Paragraph], target: BinaryIO) -> None:
    """Write a document.

    Args:
        paragraphs: its content.
        target: the file.
    """
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in (
            ("[Content_Types].xml", _TYPES),
            ("_rels/.rels", _PACKAGE_LINKS),
            ("word/_rels/document.xml.rels", _DOCUMENT_LINKS),
            ("word/styles.xml", _STYLES),
        ):
            archive.writestr(_member(name), content)
        with archive.open(_member("word/document.xml"), "w") as document:
            document.write(f"{_HEAD}<w:document {_WORD}><w:body>".encode())
            for paragraph in paragraphs:
                document.write("".join(_paragraph(paragraph)).encode())
            document.write(b"</w:body></w:document>")


def _member(name: str) -> ZipInfo:
    info = ZipInfo(name, _TIME)
    info.compress_type = ZIP_DEFLATED
    return info


def _paragraph(paragraph: Paragraph) -> Iterator[str]:
    yield "<w:p>"
    if paragraph.level:
        yield f'<w:pPr><w:pStyle w:val="Heading{paragraph.level}"/></w:pPr>'
    elif paragraph.is_row:
        stops = {round(_TWIPS_PER_POINT * (cell.left - paragraph.cells[0].left)) for cell in paragraph.cells}
        tabs = "".join(
            f'<w:tab w:val="left" w:pos="{stop}"/>' for stop in sorted(stops) if 0 < stop <= _MAX_TAB_STOP
        )
        yield f"<w:pPr><w:tabs>{tabs}</w:tabs></w:pPr>" if tabs else ""
    for i, cell in enumerate(paragraph.cells):
        if i:
            yield "<w:r><w:tab/></w:r>"
        for text in cell.texts:
            yield _run(text, is_plain=paragraph.level > 0)
    yield "</w:p>"


def _run(text: StyledText, *, is_plain: bool) -> str:
    """Return a run; `is_plain` leaves its format to the style of the paragraph."""
    marks = "" if is_plain else f"{'<w:b/>' if text.is_bold else ''}{'<w:i/>' if text.is_italic else ''}"
    properties = f"<w:rPr>{marks}</w:rPr>" if marks else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape_xml(text.text)}</w:t></w:r>'
