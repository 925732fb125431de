"""PDF files of tests: written object by object, or by reportlab."""

import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
PAGE_POINTS = (595, 842)


def pdf_of(objects: Mapping[int, bytes]) -> bytes:
    """Return a file with numbered objects, of which the first is the catalogue."""
    content = b"%PDF-1.7\n"
    offsets: dict[int, int] = {}
    for number, body in objects.items():
        offsets[number] = len(content)
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    size = max(objects) + 1
    entries = b"".join(
        b"%010d 00000 n \n" % offsets[number] if number in offsets else b"0000000000 65535 f \n"
        for number in range(size)
    )
    return content + (
        b"xref\n0 %d\n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (size, entries, size, start)
    )


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """Return a stream object."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def deflated(content: bytes) -> bytes:
    """Return a compressed stream object."""
    return stream(zlib.compress(content, 9), b"/Filter /FlateDecode")


def one_page(contents: bytes, resources: bytes = b"", others: Mapping[int, bytes] | None = None) -> bytes:
    """Return a file with one page.

    Args:
        contents: its stream object.
        resources: entries of its resources beside the font `/F`.
        others: further objects, or others in place of those that the file has.
    """
    return pdf_of(page_objects(contents, resources) | dict(others or {}))


def page_objects(contents: bytes, resources: bytes = b"") -> dict[int, bytes]:
    """Return the objects of a file with one page: catalogue, list of pages, page, contents, font."""
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> %s >> >>" % resources
    )
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return {1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: pages, 3: page, 4: contents, 5: FONT}


def text_at(x: float, y: float, text: bytes, size: float = 11) -> bytes:
    """Return the operators that show a text."""
    return b"BT /F %g Tf %g %g Td (%s) Tj ET\n" % (size, x, y, text)


SEED = one_page(
    stream(
        text_at(70, 780, b"Titel der Seite", 20)
        + text_at(70, 740, b"Ein Satz, der auf der zweiten Zeile endet und einen Binde-")
        + text_at(70, 726, b"strich hat.")
        + text_at(70, 690, b"Name")
        + text_at(270, 690, b"Preis")
    )
)
"""A heading, a paragraph of two lines, and a row of two cells."""


def drawn(pages: Sequence[Sequence[tuple[float, float, str]]], password: str | None = None) -> bytes:
    """Return a file of reportlab with texts at positions of its pages."""
    target = BytesIO()
    encryption = None if password is None else StandardEncryption(password, ownerPassword="owner")
    canvas = Canvas(target, PAGE_POINTS, invariant=True, encrypt=encryption)
    for page in pages:
        for x, y, text in page:
            canvas.setFont("Helvetica", 11)
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return target.getvalue()
