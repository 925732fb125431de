"""Paragraphs, headings and rows of tables, recognised from the lines of a PDF file.

A PDF has no paragraphs. Distances, indents, sizes and lines that end early show where they end. Where these
show nothing, lines stay together: a sentence cut in two translates worse than two paragraphs in one.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from service.formats.pdf_joining import join_justified, join_lines, words_of
from service.formats.pdf_lines import BULLETS, Cell, PdfLine, is_about

_EDGE_LINES = 2
"""Number of lines at the upper and at the lower edge of a page that can be its header and its footer."""
_MIN_GAP_EM = 1.6
"""Distance from the text, in font sizes, at least."""
_MIN_NUMBERED_PAGES = 3
_BASELINE_POINTS = 3.0
_SAME_SIZE = 1.05
_DIGITS = re.compile(r"[0-9]+")
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RunningLines:
    """Headers and footers, by the ids of their lines."""

    all: frozenset[int]
    kept: frozenset[int]
    """The first of each; repetitions and counted pages are left out."""


def find_running_lines(pages: Sequence[Sequence[PdfLine]], body_size: float) -> RunningLines:
    """Find headers and footers: the same text at the same height of several pages, or a page number in it."""
    groups: dict[_Key, list[PdfLine]] = {}
    for lines in pages:
        for line in _edge_lines(lines, body_size):
            key = _DIGITS.sub("#", line.text), round(line.baseline / _BASELINE_POINTS)
            groups.setdefault(key, []).append(line)
    found, kept = set[int](), set[int]()
    for group in groups.values():
        is_repeated = len({line.text for line in group}) == 1
        if len({line.page for line in group}) > 1 and (is_repeated or _counts_pages(group)):
            found |= {id(line) for line in group}
            is_left_out = is_repeated or len(group) >= _MIN_NUMBERED_PAGES
            kept |= {id(line) for line in (group[:1] if is_left_out else group)}
    return RunningLines(frozenset(found), frozenset(kept))


def _edge_lines(lines: Sequence[PdfLine], body_size: float) -> list[PdfLine]:
    """Return the lines at the edges of a page that a gap separates from the text between them."""
    ordered = sorted(lines, key=lambda line: -line.baseline)
    edges = [*_apart(ordered, body_size), *_apart(ordered[::-1], body_size)]
    return list({id(line): line for line in edges}.values())


def _apart(ordered: Sequence[PdfLine], body_size: float) -> Sequence[PdfLine]:
    for i, (line, following) in enumerate(pairwise(ordered[: _EDGE_LINES + 1]), start=1):
        if line.size > _SAME_SIZE * body_size:
            return ()
        if abs(line.baseline - following.baseline) > _MIN_GAP_EM * body_size:
            return ordered[:i]
    return ()


def _counts_pages(group: Sequence[PdfLine]) -> bool:
    """Return whether one number in each line differs from that of the page by the same amount."""
    numbers = [[int(digits[:9]) for digits in _DIGITS.findall(line.text)] for line in group]
    varying = [i for i in range(len(numbers[0])) if len({each[i] for each in numbers}) > 1]
    if len(varying) != 1:
        return False
    offsets = {each[varying[0]] - line.page for each, line in zip(numbers, group, strict=True)}
    return len(offsets) == 1


MAX_HEADING_CHARACTERS = 200
MAX_HEADING_LEVEL = 3

_HEADING_RATIO = 1.15
"""Ratio of the size of headings to that of the body, at least."""
_NEIGHBOURS = 4
"""Number of lines before and after a line that show how wide its column is."""
_INDENT_EM = 0.8
_SPACE_EM = 0.36
"""Width of a space in wide fonts such as Verdana; with less, lines that are full seem to have room."""
_DEFAULT_PITCH_EM = 1.3
_MAX_PITCH_EM = 3.0
_USUAL_PITCH_EM = 1.7
_MIN_WIDE_LINES = 5
"""Number of full lines from which on wider distances are those of the lines, not of the paragraphs."""
_PITCH_TOLERANCE = 1.2
_HEADING_PITCH_EM = 1.8
_ENDINGS = tuple(".!?:;\u2026\u3002\uff01\uff1f")
_CLOSINGS = "\"'\u201d\u2019\u00bb\u00ab)]"
_NUMBER = re.compile(r"(\(?[0-9]{1,3}[.)]|\(?[a-z][.)])( |$)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, a heading, or a row of a table."""

    cells: tuple[Cell, ...]
    """Several for a row."""
    level: int
    """Level of a heading from 1; 0 for other text."""

    @property
    def is_row(self) -> bool:
        """Return whether it is a row of a table."""
        return len(self.cells) > 1


@dataclass(frozen=True, slots=True)
class _ColumnLine:
    """A line with the edges of its column."""

    line: PdfLine
    left: float
    right: float
    is_alone: bool
    """Whether no line around it shows how wide the column is."""

    def has_room_for(self, following: PdfLine) -> bool:
        """Return whether the first word of another line would have fitted into this one."""
        return (
            self.is_alone
            or self.line.right + _SPACE_EM * following.size + following.first_word_width <= self.right
        )


_Columns = list[list[_ColumnLine]]


@dataclass(frozen=True, slots=True)
class _Measures:
    """Sizes and distances of a document."""

    body_size: float
    pitches: dict[float, float]
    """Distances between the lines of a paragraph, by font size."""

    def pitch(self, line: PdfLine) -> float:
        return self.pitches.get(round(line.size, 1), _DEFAULT_PITCH_EM * line.size)

    def is_heading(self, line: PdfLine) -> bool:
        return line.size >= _HEADING_RATIO * self.body_size


def find_paragraphs(pages: Sequence[Sequence[PdfLine]]) -> Iterator[Paragraph]:
    """Return the paragraphs of a document in the order of its lines."""
    pages = [join_justified(lines) for lines in pages]
    body_size = _body_size(pages)
    running = find_running_lines(pages, body_size)
    columns = [_columns([line for line in lines if id(line) not in running.all]) for lines in pages]
    measures = _Measures(body_size, _pitches([column for on_page in columns for column in on_page]))
    groups = _group(pages, columns, running, measures)
    words = frozenset(words_of(pages))
    levels = _levels(groups, measures)
    for lines in groups:
        if len(lines[0].cells) > 1:
            yield Paragraph(lines[0].cells, 0)
            continue
        left, right = min(line.left for line in lines), max(line.right for line in lines)
        level = levels.get(round(lines[0].size), 0) if _is_heading(lines, measures) else 0
        yield Paragraph((Cell(left, right, join_lines(lines, words)),), level)


def _body_size(pages: Sequence[Sequence[PdfLine]]) -> float:
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[round(line.size, 1)] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size))


def _columns(lines: Sequence[PdfLine]) -> _Columns:
    """Split the lines of a page where the text continues at another position."""
    found, start = [], 0
    for i in range(1, len(lines) + 1):
        if i == len(lines) or _begins_column(lines[i - 1], lines[i]):
            found.append(_with_edges(lines[start:i]))
            start = i
    return found if lines else []


def _begins_column(before: PdfLine, line: PdfLine) -> bool:
    is_above = line.baseline > before.baseline + line.size / 2
    is_beside = line.left >= before.right or line.right <= before.left
    return is_above or is_beside or line.style.angle != before.style.angle


def _with_edges(lines: Sequence[PdfLine]) -> list[_ColumnLine]:
    found = []
    for i, line in enumerate(lines):
        around = lines[max(i - _NEIGHBOURS, 0) : i + _NEIGHBOURS + 1]
        like = [other for other in around if len(other.cells) == 1 and other.has_size_of(line)] or [line]
        left, right = min(other.left for other in like), max(other.right for other in like)
        found.append(_ColumnLine(line, left, right, is_alone=len(like) == 1))
    return found


def _pitches(columns: _Columns) -> dict[float, float]:
    """Return the most frequent distance after lines that are full, which paragraphs seldom end with."""
    distances: dict[float, Counter[float]] = {}
    for column in columns:
        for before, after in pairwise(column):
            line = after.line
            distance = before.line.baseline - line.baseline
            is_near = 0 < distance <= _MAX_PITCH_EM * line.size
            if is_near and line.has_size_of(before.line) and not before.has_room_for(line):
                distances.setdefault(round(line.size, 1), Counter())[round(distance, 1)] += 1
    found = {}
    for size, counts in distances.items():
        distance = max(counts, key=lambda distance: (counts[distance], -distance))
        if distance <= _USUAL_PITCH_EM * size or counts[distance] >= _MIN_WIDE_LINES:
            found[size] = distance
    return found


def _group(
    pages: Sequence[Sequence[PdfLine]],
    columns: Sequence[_Columns],
    running: RunningLines,
    measures: _Measures,
) -> list[list[PdfLine]]:
    """Return the lines of each paragraph."""
    grouping = _Grouping(measures)
    for lines, on_page in zip(pages, columns, strict=True):
        kept = [line for line in lines if id(line) in running.kept]
        top = on_page[0][0].line.baseline if on_page else -math.inf
        grouping.groups += [[line] for line in kept if line.baseline > top]
        for column in on_page:
            grouping.add_column(column)
        grouping.groups += [[line] for line in kept if line.baseline <= top]
    return grouping.groups


class _Grouping:
    """Adds lines to paragraphs."""

    def __init__(self, measures: _Measures) -> None:
        self.groups: list[list[PdfLine]] = []
        self._measures = measures
        self._open: tuple[list[PdfLine], _ColumnLine] | None = None
        """Last paragraph in the size of the body with its last line: another column may continue it."""

    def add_column(self, column: Sequence[_ColumnLine]) -> None:
        """Add the lines of a column."""
        group: list[PdfLine] | None = None
        before = column[0]
        for each in column:
            if group is None:
                group = self._continued(each)
            elif self._is_new(group, before, each):
                group = None
            if group is None:
                group = []
                self.groups.append(group)
            group.append(each.line)
            if len(each.line.cells) == 1 and is_about(each.line.size, self._measures.body_size):
                self._open = group, each
            before = each

    def _continued(self, first: _ColumnLine) -> list[PdfLine] | None:
        """Return the paragraph that a column continues, if any."""
        line = first.line
        if self._open is None or len(line.cells) > 1:
            return None
        group, before = self._open
        is_continued = (
            line.has_size_of(before.line)
            and line.page - before.line.page <= 1
            and line.style.angle == before.line.style.angle
            and line.is_bold == before.line.is_bold
            and line.left < first.left + _INDENT_EM * line.size
            and not before.has_room_for(line)
            and not _ends_sentence(before.line.text)
            and not _begins_with_bullet(line)
        )
        return group if is_continued else None

    def _is_new(self, group: Sequence[PdfLine], before: _ColumnLine, each: _ColumnLine) -> bool:
        """Return whether a line begins a paragraph."""
        line, last = each.line, before.line
        distance = last.baseline - line.baseline
        if len(last.cells) > 1 or len(line.cells) > 1 or not line.has_size_of(last):
            return True
        if self._measures.is_heading(line):
            return distance > _HEADING_PITCH_EM * line.size
        is_far = distance > _PITCH_TOLERANCE * self._measures.pitch(line)
        is_after_title = last.is_bold and not line.has_bold and len(group) == 1
        if is_far or before.has_room_for(line) or _begins_with_bullet(line) or is_after_title:
            return True
        return _is_indented(group, line)


def _begins_with_bullet(line: PdfLine) -> bool:
    return line.text[0] in BULLETS and line.text[1:2] in {"", " "}


def _is_indented(group: Sequence[PdfLine], line: PdfLine) -> bool:
    """Return whether the left edge or the number of a line shows that it begins a paragraph."""
    if abs(line.left - group[-1].left) > _INDENT_EM * line.size:
        # The second line of a paragraph may be indented, or the first one.
        return len(group) > 1
    return _NUMBER.match(line.text) is not None and _NUMBER.match(group[0].text) is not None


def _ends_sentence(text: str) -> bool:
    return text.rstrip(_CLOSINGS).endswith(_ENDINGS)


def _is_heading(lines: Sequence[PdfLine], measures: _Measures) -> bool:
    num_characters = sum(len(line.text) for line in lines)
    return measures.is_heading(lines[0]) and num_characters <= MAX_HEADING_CHARACTERS


def _levels(groups: Sequence[Sequence[PdfLine]], measures: _Measures) -> dict[int, int]:
    """Return the levels of headings by their sizes."""
    found = {
        round(lines[0].size) for lines in groups if len(lines[0].cells) == 1 and _is_heading(lines, measures)
    }
    return {
        size: min(level, MAX_HEADING_LEVEL) for level, size in enumerate(sorted(found, reverse=True), start=1)
    }
