"""PDF files of tests: of one page, or of reportlab."""

from collections.abc import Sequence
from io import BytesIO

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from bench.hostile.pdf import one_page, stream, text_at

PAGE_POINTS = (595, 842)


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
