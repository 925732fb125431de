"""Lines of text on the pages of a PDF file, made of characters with positions and formats."""

from dataclasses import dataclass
from typing import NamedTuple

BULLETS = "\u2022\u25e6\u25aa\u25ab\u25a0\u25a1\u25cf\u25cb\u2023\u2043\u2219\u00b7"

_DASHES = "-\u2013\u2014"
_MAX_MARKER_CHARACTERS = 5
_SYMBOLS = range(0xF000, 0xF100)
"""Characters of symbol fonts; their meaning depends on the font, but most that begin lines are bullets."""
_SHIFT_EM = 0.5
"""Distance from the baseline, in font sizes, up to which characters belong to a line: superscripts do."""
_BACK_EM = 1.0
"""Distance, in font sizes, up to which a character may begin before the end of the last: kerning, accents."""
_CELL_EM = 2.0
"""Distance between words, in font sizes, from which on they are in different cells of a table."""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Format of characters."""

    size: float
    """Height of the font in points, as shown."""
    angle: int
    """Direction of the text in degrees."""
    is_bold: bool
    is_italic: bool


class Character(NamedTuple):
    """A character with its position, in the coordinates of `PdfLine`."""

    text: str
    """Several characters for a ligature."""
    left: float
    right: float
    baseline: float
    style: TextStyle
    is_after_space: bool


@dataclass(frozen=True, slots=True)
class StyledText:
    """Text in one format."""

    text: str
    is_bold: bool
    is_italic: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line without a wide gap between them."""

    left: float
    right: float
    texts: tuple[StyledText, ...]

    @property
    def text(self) -> str:
        """All texts."""
        return "".join(each.text for each in self.texts)


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text. Coordinates are in points, along the direction of the text and upwards from it."""

    page: int
    """Page number from 0."""
    baseline: float
    style: TextStyle
    """Format of the largest characters."""
    cells: tuple[Cell, ...]
    text: str
    """Text of all cells."""
    first_word_width: float

    @property
    def left(self) -> float:
        """Beginning of the text."""
        return self.cells[0].left

    @property
    def right(self) -> float:
        """End of the text."""
        return self.cells[-1].right

    @property
    def size(self) -> float:
        """Font size in points."""
        return self.style.size

    @property
    def is_bold(self) -> bool:
        """Return whether all of its text is bold."""
        return all(text.is_bold for cell in self.cells for text in cell.texts)

    @property
    def has_bold(self) -> bool:
        """Return whether any of its text is bold."""
        return any(text.is_bold for cell in self.cells for text in cell.texts)

    def has_size_of(self, other: "PdfLine") -> bool:
        """Return whether two lines have about the same font size."""
        return is_about(self.size, other.size)


def is_about(size: float, other: float) -> bool:
    """Return whether two font sizes are about the same."""
    return max(size, other) <= 1.1 * min(size, other)


class LineBuilder:
    """Joins characters to a line."""

    def __init__(self, page: int, first: Character) -> None:
        self._page = page
        self._baseline = first.baseline
        self._style = first.style
        self._left, self._right = first.left, first.right
        self._cells: list[Cell] = []
        self._texts: list[StyledText] = []
        self._text_style = first.style
        self._characters = [first.text]
        self._first_word_width: float | None = None

    def fits(self, character: Character) -> bool:
        """Return whether a character continues the line."""
        size = max(character.style.size, self._style.size)
        is_shifted = abs(character.baseline - self._baseline) > _SHIFT_EM * size
        is_turned = character.style.angle != self._style.angle
        return not is_shifted and not is_turned and character.left >= self._right - _BACK_EM * size

    def add(self, character: Character) -> None:
        """Append a character that fits."""
        style = character.style
        if style.size > self._style.size:
            self._style = style
        if character.left - self._right > _CELL_EM * style.size and not self._is_marker():
            self._end_word()
            self._end_cell()
            self._left = self._right = character.left
            self._text_style = style
        elif character.is_after_space:
            self._end_word()
            self._characters.append(" ")
        if (style.is_bold, style.is_italic) != (self._text_style.is_bold, self._text_style.is_italic):
            self._end_text()
            self._text_style = style
        self._characters.append(character.text)
        self._right = max(self._right, character.right)

    def finish(self) -> PdfLine:
        """Return the line."""
        self._end_word()
        self._end_cell()
        text = " ".join(cell.text for cell in self._cells)
        width = self._first_word_width or 0.0
        return PdfLine(self._page, self._baseline, self._style, tuple(self._cells), text, width)

    def _end_word(self) -> None:
        if self._first_word_width is None:
            self._first_word_width = self._right - self._left

    def _end_text(self) -> None:
        text = "".join(self._characters)
        self._characters.clear()
        if not text:
            return
        if not text.isascii():
            text = _in_unicode(text, is_first=not self._cells and not self._texts)
        self._texts.append(StyledText(text, self._text_style.is_bold, self._text_style.is_italic))

    def _end_cell(self) -> None:
        self._end_text()
        self._cells.append(Cell(self._left, self._right, tuple(self._texts)))
        self._texts.clear()

    def _is_marker(self) -> bool:
        """Return whether the current cell marks an item of a list."""
        num_texts = len(self._texts) + len(self._characters)
        if self._cells or num_texts > _MAX_MARKER_CHARACTERS:
            return False
        text = "".join([*(each.text for each in self._texts), *self._characters])
        is_symbol = len(text) == 1 and (text in BULLETS or text in _DASHES or ord(text) in _SYMBOLS)
        return is_symbol or (len(text) <= _MAX_MARKER_CHARACTERS and text.endswith((".", ")")))


def _in_unicode(text: str, *, is_first: bool) -> str:
    """Return a text with a bullet of Unicode and without halves of characters."""
    if is_first and ord(text[0]) in _SYMBOLS and text[1:2] in {"", " "}:
        text = BULLETS[0] + text[1:]
    # PDFium for Windows has two surrogates for one character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
