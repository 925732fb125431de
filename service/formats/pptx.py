"""PowerPoint presentations (ECMA-376): slides with tables, notes, chart titles and diagrams.

Not translated: layouts and masters, comments, alternative texts, and series and categories of charts, which
copy cells of a spreadsheet. Members without text keep their content, and unchanged paragraphs stay as they
are.
"""

from collections.abc import Sequence
from functools import partial
from zipfile import ZipFile

from service.formats.archives import ArchiveFormat, XmlMember
from service.formats.drawing_text import DRAWINGS, PARAGRAPHS
from service.formats.entries import FileFormatError
from service.formats.office_packages import read_package

_MAIN = (
    ".presentation.main+xml", ".presentation.macroenabled.main+xml",
    ".slideshow.main+xml", ".slideshow.macroenabled.main+xml",
    "presentationml.template.main+xml",
)  # fmt: skip
_TEXT_PARTS = ((".slide+xml",), (".notesslide+xml",), DRAWINGS)
"""Endings of content types, in reading order."""


class PptxFormat(ArchiveFormat):
    """A PowerPoint presentation; an entry is the text of a paragraph between two tab stops."""

    def members(self, archive: ZipFile) -> Sequence[XmlMember]:
        """See `ArchiveFormat`."""
        package = read_package(archive, "a PowerPoint presentation")
        if not package.members(_MAIN):
            raise FileFormatError("it contains no presentation; save it as .pptx")
        return [
            XmlMember(name, partial(PARAGRAPHS.parts, f"{name}, "))
            for endings in _TEXT_PARTS
            for name in package.members(endings)
        ]
