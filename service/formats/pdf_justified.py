"""Lines of justified text with gaps as wide as those between the cells of a table."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from service.formats.pdf_lines import Cell, PdfLine, StyledText

_EQUAL_GAPS = 1.1
_RIGHT_EM = 0.15
_INDENT_EM = 2.0
_DISTANCE_EM = 3.0


def join_justified(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Join the words of justified lines of a page: gaps are equal, and a neighbour ends at the same edge.

    Lines whose words were joined count as such neighbours.
    """
    found = list(lines)
    for i in range(1, len(found)):
        if _is_justified(found[i], found[i - 1]):
            found[i] = _joined(found[i])
    for i in range(len(found) - 2, -1, -1):
        if _is_justified(found[i], found[i + 1]):
            found[i] = _joined(found[i])
    return found


def _is_justified(line: PdfLine, neighbour: PdfLine) -> bool:
    if len(line.cells) == 1 or len(neighbour.cells) > 1 or not line.has_size_of(neighbour):
        return False
    size = line.size
    is_beside = (
        line.style.angle == neighbour.style.angle
        and 0 < abs(line.baseline - neighbour.baseline) <= _DISTANCE_EM * size
        and abs(line.right - neighbour.right) <= _RIGHT_EM * size
        and abs(line.left - neighbour.left) <= _INDENT_EM * size
    )
    gaps = [after.left - before.right for before, after in pairwise(line.cells)]
    is_of_words = all(" " not in cell.text for cell in line.cells) and any(map(str.isalpha, line.text))
    return is_beside and is_of_words and max(gaps) <= _EQUAL_GAPS * min(gaps)


def _joined(line: PdfLine) -> PdfLine:
    texts: list[StyledText] = []
    for cell in line.cells:
        if texts:
            texts[-1] = replace(texts[-1], text=f"{texts[-1].text} ")
        texts.extend(cell.texts)
    return replace(line, cells=(Cell(line.left, line.right, tuple(texts)),))
