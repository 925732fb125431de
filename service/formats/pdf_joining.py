"""Joining of lines: spaces, and hyphens that belong to the line break or to the word.

The words of a justified line may have gaps as wide as those between the cells of a table; these are joined,
too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from service.formats.pdf_lines import Cell, PdfLine, StyledText

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST_WORD = re.compile(r"(?<![^\W\d_])(?<![^\W\d_]-)[^\W\d_]++(?:-[^\W\d_]++)*+\Z")
_HYPHENS = ("-", "\u2010")
_CONJUNCTIONS = frozenset(
    ["und", "oder", "bzw", "sowie", "and", "or", "et", "ou", "y", "o", "e", "of", "og", "och", "i", "\u0438"]
)
"""Words before which a hyphen stands for a part of a word: `Hin- und Rückfahrt`."""
_UNSPACED = re.compile("[\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Characters of scripts without spaces between words."""


def words_of(pages: Sequence[Sequence[PdfLine]]) -> Iterator[str]:
    """Yield the words of all lines in lower case; not those that a hyphen at the end of a line may divide."""
    is_divided = False
    for lines in pages:
        for line in lines:
            found = _WORD.findall(line.text)[1 if is_divided else 0 :]
            is_divided = line.text.endswith(_HYPHENS)
            yield from (word.lower() for word in (found[:-1] if is_divided else found))


def join_lines(lines: Sequence[PdfLine], words: frozenset[str]) -> tuple[StyledText, ...]:
    """Return the text of a paragraph.

    Args:
        lines: lines of one cell each.
        words: words of the document in lower case, which decide about hyphens.
    """
    texts = [text for line in lines for text in line.cells[0].texts]
    end = -1
    for line, following in pairwise(lines):
        end += len(line.cells[0].texts)
        last = texts[end]
        texts[end] = StyledText(_joint(last.text, following.text, words), last.is_bold, last.is_italic)
    return tuple(_merged(texts))


def _merged(texts: Sequence[StyledText]) -> Iterator[StyledText]:
    """Join neighbours of the same format."""
    for (is_bold, is_italic), group in groupby(texts, lambda text: (text.is_bold, text.is_italic)):
        yield StyledText("".join(text.text for text in group), is_bold, is_italic)


def _joint(text: str, following: str, words: frozenset[str]) -> str:
    """Return the end of a line with what separates it from the following line."""
    if not text.endswith(_HYPHENS):
        is_unspaced = _UNSPACED.match(text[-1:]) and _UNSPACED.match(following)
        return text if is_unspaced else f"{text} "
    stem, hyphen = text[:-1], text[-1]
    before = _LAST_WORD.search(stem)
    after = _WORD.match(following)
    if before is None:
        return f"{text} " if stem.endswith(" ") or not stem else text
    if after is None:
        return text if following[:1].isdigit() else f"{text} "
    return stem + _hyphen(before.group(), after.group(), hyphen, words)


def _hyphen(before: str, after: str, hyphen: str, words: frozenset[str]) -> str:
    """Return what is between the two parts of a word."""
    joined, first, second = before + after, before.lower(), after.lower()
    if f"{first}-{second}" in words:
        return hyphen
    if joined.lower() in words:
        return ""
    if second in _CONJUNCTIONS:
        return f"{hyphen} "
    is_capital = after[0].isupper() and not joined.isupper()
    has_own_hyphen = "-" in after and second.partition("-")[0] in words
    is_compound = "-" in before and first.rpartition("-")[2] in words and second in words
    return hyphen if is_capital or has_own_hyphen or is_compound else ""


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
            found[i] = _with_joined_cells(found[i])
    for i in range(len(found) - 2, -1, -1):
        if _is_justified(found[i], found[i + 1]):
            found[i] = _with_joined_cells(found[i])
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


def _with_joined_cells(line: PdfLine) -> PdfLine:
    texts: list[StyledText] = []
    for cell in line.cells:
        if texts:
            texts[-1] = replace(texts[-1], text=f"{texts[-1].text} ")
        texts.extend(cell.texts)
    return replace(line, cells=(Cell(line.left, line.right, tuple(texts)),))
