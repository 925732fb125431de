"""PDF files: read only. Their text is written as a Word document, or as plain text with a paragraph a line.

Pages, columns, pictures and frames are not kept: see docs/reference/document-formats.md.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import BinaryIO, cast

from service.formats.docx import DocxFormat
from service.formats.docx_writer import write_docx
from service.formats.entries import Entry, FileFormat, FileOptions, TargetText
from service.formats.lines import encode_line
from service.formats.parts import BytesFormat, Part, slot
from service.formats.pdf_pages import read_pages
from service.formats.pdf_paragraphs import find_paragraphs

TEXT_OUTPUT = ".txt"


class _PdfDocxFormat(DocxFormat):
    """A PDF file that becomes a Word document."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        with tempfile.TemporaryFile() as document:
            write_docx(find_paragraphs(read_pages(source)), cast("BinaryIO", document))
            yield from super().read(cast("BinaryIO", document))

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        with tempfile.TemporaryFile() as document:
            write_docx(find_paragraphs(read_pages(source)), cast("BinaryIO", document))
            super().write(cast("BinaryIO", document), texts, target)


class _PdfTextFormat(BytesFormat):
    """A PDF file that becomes plain text: blank lines between paragraphs, tabs between the cells of a row."""

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        numbers = count(1)
        was_row = False
        for i, paragraph in enumerate(find_paragraphs(read_pages(source))):
            if i and not (was_row and paragraph.is_row):
                yield b"\n"
            was_row = paragraph.is_row
            for j, cell in enumerate(paragraph.cells):
                if j:
                    yield b"\t"
                location = f"paragraph {next(numbers)}"
                yield slot(Entry(cell.text, location), cell.text.encode(), partial(encode_line, b"\n"))
            yield b"\n"


def pdf_format(options: FileOptions) -> FileFormat:
    """Return the format of a PDF file; its entries are those of the document that is made of it."""
    return _PdfTextFormat(options) if options.output == TEXT_OUTPUT else _PdfDocxFormat(options)
