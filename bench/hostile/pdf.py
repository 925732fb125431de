"""PDF files written object by object, some of them to cost their readers more than their size."""

import zlib
from collections.abc import Callable, Mapping

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


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


TEXT = text_at(70, 700, b"Text")
FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>"
USES_FORM = b"/XObject << /X 6 0 R >>"
LARGE_BYTES = 2**27


def nested_forms(num_levels: int) -> Mapping[int, bytes]:
    """Return forms that each show the next one twice."""
    forms = {6 + i: stream(b"/X Do /X Do", FORM % (7 + i)) for i in range(num_levels)}
    return {**forms, 6 + num_levels: stream(TEXT, FORM % 6)}


def pages(kids: bytes, num_pages: int) -> Mapping[int, bytes]:
    """Return a list of pages in place of the one of the file."""
    return {2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, num_pages)}


PDFS: Mapping[str, Callable[[], bytes]] = {
    "a bomb in a bomb": lambda: one_page(
        stream(zlib.compress(zlib.compress(b" " * LARGE_BYTES, 9), 9), b"/Filter [/FlateDecode /FlateDecode]")
    ),
    "many characters": lambda: one_page(deflated(b"BT /F 1 Tf " + b"(%s) Tj " % (b"a" * 30_000) * 70)),
    "forms that multiply": lambda: one_page(stream(b"/X Do"), USES_FORM, nested_forms(30)),
    "a form in itself": lambda: one_page(stream(b"/X Do"), USES_FORM, {6: stream(b"/X Do", FORM % 6)}),
    "pages in themselves": lambda: one_page(stream(TEXT), others=pages(b"2 0 R 2 0 R", 2)),
    "many pages": lambda: one_page(stream(TEXT), others=pages(b"3 0 R " * 6000, 6000)),
    "missing pages": lambda: one_page(stream(TEXT), others=pages(b"3 0 R", 99_999)),
    "its own length": lambda: one_page(b"<< /Length 4 0 R >>\nstream\n" + TEXT + b"\nendstream"),
    "deep arrays": lambda: one_page(stream(TEXT), others={6: b"[" * 200_000 + b"]" * 200_000}),
    "many states": lambda: one_page(stream(b"q " * 500_000 + TEXT)),
    "forms for a long time": lambda: one_page(stream(b"/X Do " + TEXT), USES_FORM, nested_forms(12)),
    "numbers that are too large": lambda: one_page(stream(b"BT /F 1e38 Tf 1e38 1e38 Td (x) Tj ET\n" + TEXT)),
}
"""Functions that make files, by title."""
