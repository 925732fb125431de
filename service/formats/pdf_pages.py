"""Pages of PDF files (ISO 32000), read with PDFium.

Lines come in the order of the file's content, which most programs write in the order of reading.
"""

import ctypes
import math
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Lock
from typing import Any, BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from service.formats.entries import FileFormatError
from service.formats.pdf_lines import Character, LineBuilder, PdfLine, TextStyle

MAX_PAGES = 5000
MAX_CHARACTERS = 5_000_000
"""Maximum number of characters on all pages together."""

_PDFIUM_LOCK = Lock()
"""PDFium must not run on two threads of a process at a time."""
_HEADER, _END = b"%PDF-", b"%%EOF"
_MARK_BYTES = 2**16
"""Part of a file, from its beginning and to its end, in which its header and its end mark must be."""
_PASSWORD_ERROR = 4
_MAX_FONT_NAME_BYTES = 256
_ITALIC_FLAG = 1 << 6
_BOLD_FLAG = 1 << 18
_BOLD_WEIGHT = 600
_BOLD_NAMES = ("bold", "black", "heavy")
_ITALIC_NAMES = ("italic", "oblique")
_UNKNOWN = "\ufffd"
_MAX_COORDINATE = 1e6
_HYPHEN_CODES = frozenset([0x02, 0xAD])
"""Codes that PDFium returns for a hyphen at the end of a line, and some fonts for every hyphen."""
_NO_CHARACTERS = frozenset([*range(32), 0xFFFE, 0xFFFF])
_MAX_CODE = 0x10FFFF
_LIGATURES = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"
}  # fmt: skip


def read_pages(source: BinaryIO) -> list[list[PdfLine]]:
    """Return the lines of each page.

    Raises:
        FileFormatError: the file is not a PDF, is damaged, needs a password, has no text or exceeds a limit.
    """
    _check_marks(source)
    with _PDFIUM_LOCK:
        pages = list(_pages(source))
    if not any(pages):
        raise FileFormatError(
            "it has no text, only pictures or nothing; recognise its text first, for example with OCRmyPDF"
        )
    return pages


def _check_marks(source: BinaryIO) -> None:
    """Check the first and the last bytes: PDFium would read what is left of a truncated file."""
    size_bytes = source.seek(0, 2)
    source.seek(0)
    if _HEADER not in source.read(_MARK_BYTES):
        raise FileFormatError("it is not a PDF file: %PDF- is missing at its beginning")
    source.seek(max(size_bytes - _MARK_BYTES, 0))
    if _END not in source.read(_MARK_BYTES):
        raise FileFormatError("it is truncated: %%EOF is missing at its end; save or download it again")
    source.seek(0)


def _pages(source: BinaryIO) -> Iterator[list[PdfLine]]:
    with ExitStack() as closing:
        try:
            document = closing.enter_context(pypdfium2.PdfDocument(source))
        except pypdfium2.PdfiumError as error:
            if error.err_code == _PASSWORD_ERROR:
                raise FileFormatError("it is encrypted; save it without a password") from error
            raise FileFormatError(f"it cannot be read as PDF: {error} Save it again") from error
        num_pages = len(document)
        if num_pages > MAX_PAGES:
            raise FileFormatError(f"it has {num_pages:,} pages, more than {MAX_PAGES:,}; split it")
        num_characters = 0
        for number in range(num_pages):
            with ExitStack() as closing_page:
                text_page = _open_text(document, number, closing_page)
                on_page = text_page.count_chars()
                num_characters += on_page
                if num_characters > MAX_CHARACTERS:
                    raise FileFormatError(f"it has more than {MAX_CHARACTERS:,} characters; split it")
                yield list(_lines(_PageReader(text_page).characters(on_page), number))


def _open_text(document: Any, number: int, closing: ExitStack) -> Any:
    try:
        page = document[number]
        closing.callback(page.close)
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        raise FileFormatError(f"page {number + 1} cannot be read: {error} Save the file again") from error
    closing.callback(text_page.close)
    return text_page


def _lines(characters: Iterator[Character], page: int) -> Iterator[PdfLine]:
    line: LineBuilder | None = None
    for character in characters:
        if line is not None and line.fits(character):
            line.add(character)
            continue
        if line is not None:
            yield line.finish()
        line = LineBuilder(page, character)
    if line is not None:
        yield line.finish()


class _PageReader:
    """Reads the characters of one page."""

    def __init__(self, text_page: Any) -> None:
        self._text_page = text_page
        self._object: int | None = None
        self._style = TextStyle(10.0, 0, is_bold=False, is_italic=False)
        self._x, self._y, self._box = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()

    def characters(self, num_characters: int) -> Iterator[Character]:
        """Yield all characters but spaces and line breaks, which PDFium adds where words are apart."""
        is_after_space = False
        for index in range(num_characters):
            code = pdfium.FPDFText_GetUnicode(self._text_page, index)
            if code <= _MAX_CODE and chr(code).isspace():
                is_after_space = True
                continue
            self._update_style(index)
            left, right, baseline = self._position(index)
            yield Character(_text(code), left, right, baseline, self._style, is_after_space)
            is_after_space = False

    def _update_style(self, index: int) -> None:
        pointer = pdfium.FPDFText_GetTextObject(self._text_page, index)
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        if address is not None and address != self._object:
            self._object = address
            self._style = self._read_style(index)

    def _read_style(self, index: int) -> TextStyle:
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self._text_page, index, matrix)
        size = pdfium.FPDFText_GetFontSize(self._text_page, index) * math.hypot(matrix.c, matrix.d)
        name, flags = self._font(index)
        is_bold = (
            flags & _BOLD_FLAG != 0
            or any(part in name for part in _BOLD_NAMES)
            or pdfium.FPDFText_GetFontWeight(self._text_page, index) >= _BOLD_WEIGHT
        )
        is_italic = flags & _ITALIC_FLAG != 0 or any(part in name for part in _ITALIC_NAMES)
        angle = math.degrees(math.atan2(_limited(matrix.b), _limited(matrix.a)))
        return TextStyle(max(abs(_limited(size)), 1.0), round(angle) % 360, is_bold, is_italic)

    def _font(self, index: int) -> tuple[str, int]:
        """Return name and flags of the font of a character."""
        buffer, flags = ctypes.create_string_buffer(_MAX_FONT_NAME_BYTES), ctypes.c_int()
        size = pdfium.FPDFText_GetFontInfo(self._text_page, index, buffer, _MAX_FONT_NAME_BYTES, flags)
        name = buffer.value if size <= _MAX_FONT_NAME_BYTES else b""
        return name.decode("utf8", "replace").lower(), flags.value

    def _position(self, index: int) -> tuple[float, float, float]:
        """Return beginning, end and baseline of a character, in the coordinates of `PdfLine`."""
        x, y, box = self._x, self._y, self._box
        pdfium.FPDFText_GetCharOrigin(self._text_page, index, x, y)
        pdfium.FPDFText_GetLooseCharBox(self._text_page, index, box)
        angle = self._style.angle
        if angle == 0:
            left = _limited(box.left)
            return left, max(left, _limited(box.right)), _limited(y.value)
        cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        width = abs(_limited(box.right - box.left) * cosine) + abs(_limited(box.top - box.bottom) * sine)
        left = _limited(x.value) * cosine + _limited(y.value) * sine
        return left, left + width, _limited(y.value) * cosine - _limited(x.value) * sine


def _text(code: int) -> str:
    """Return the text of a character of PDFium."""
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code in _HYPHEN_CODES:
        return "-"
    return _UNKNOWN if code in _NO_CHARACTERS or code > _MAX_CODE else chr(code)


def _limited(value: float) -> float:
    """Return a coordinate, or the nearest that a page can have."""
    if math.isnan(value):
        return 0.0
    return min(max(value, -_MAX_COORDINATE), _MAX_COORDINATE)
