"""Positions of block texts in a Markdown document; the parser reports only lines."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from service.formats.errors import FileFormatError


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """Position of a block's text: where each of its lines begins in the text and in the document."""

    line: int
    """First line of the block in the document."""
    starts: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    """Column of each character of each line, and of its end."""

    def at(self, position: int) -> tuple[int, int]:
        """Return the line and column of a character of the text, or of its end."""
        k = bisect_right(self.starts, position) - 1
        columns = self.columns[k]
        return self.line + k, columns[min(position - self.starts[k], len(columns) - 1)]

    def column(self, position: int) -> int:
        return self.at(position)[1]


def locate_lines(content: str, lines: Sequence[str], first: int, num_marks: int) -> BlockPosition:
    """Locate the text of a paragraph or a heading.

    Args:
        content: one line for each line of the document, without the marks of containers and headings.
        lines: lines of the document.
        first: line where the block begins.
        num_marks: number of `#` before the text of a heading.
    """
    starts: list[int] = []
    columns: list[tuple[int, ...]] = []
    at = 0
    for k, content_line in enumerate(content.split("\n")):
        line = lines[first + k]
        stripped = content_line.lstrip(" \t")
        if num_marks:
            column = line.find(stripped, line.find("#" * num_marks) + num_marks)
        else:
            column = len(line.rstrip(" \t")) - len(stripped.rstrip(" \t"))
            column = column if line.startswith(stripped.rstrip(" \t"), column) else -1
        if column < 0:
            raise _not_found(first + k)
        num_left = len(content_line) - len(stripped)
        starts.append(at)
        columns.append(tuple([column] * num_left + [column + i for i in range(len(stripped) + 1)]))
        at += len(content_line) + 1
    return BlockPosition(first, tuple(starts), tuple(columns))


def locate_cell(content: str, lines: Sequence[str], line: int, after: int) -> BlockPosition:
    r"""Locate the text of a table cell, for whose `|` the document has `\|`.

    Args:
        content: text of the cell.
        lines: lines of the document.
        line: line of the cell.
        after: a column before the cell and after all previous cells.
    """
    for start in range(after, len(lines[line])):
        columns = _match_cell(content, lines[line], start)
        if columns is not None:
            return BlockPosition(line, (0,), (columns,))
    raise _not_found(line)


def _match_cell(content: str, line: str, start: int) -> tuple[int, ...] | None:
    columns: list[int] = []
    at = start
    for character in content:
        if character == "|" and not line.startswith("\\|", at):
            return None
        if not line.startswith("\\|" if character == "|" else character, at):
            return None
        columns.append(at)
        at += 1 + (character == "|")
    return (*columns, at)


def _not_found(line: int) -> FileFormatError:
    return FileFormatError(f"the paragraph at line {line + 1} mixes text and markup ambiguously; split it")
