"""Where in a Markdown document the text of a block stands: its parser tells lines only."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from service.formats.errors import FileProblem


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """Of a block's text: for each of its lines, where that begins in the text and in the document."""

    line: int
    """First line of the document."""
    starts: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    """Column of each character of each line, and of its end."""

    def at(self, position: int) -> tuple[int, int]:
        """Line and column of a character of the text, or of its end."""
        k = bisect_right(self.starts, position) - 1
        columns = self.columns[k]
        return self.line + k, columns[min(position - self.starts[k], len(columns) - 1)]

    def column(self, position: int) -> int:
        return self.at(position)[1]


def find_lines(content: str, lines: Sequence[str], first: int, num_marks: int) -> BlockPosition:
    """Where the text of a paragraph or a heading stands.

    Args:
        content: a line of it for each line of the document, less what containers and headings put around.
        lines: of the document.
        first: where it begins.
        num_marks: of `#` before a heading's text.
    """
    starts: list[int] = []
    columns: list[tuple[int, ...]] = []
    at = 0
    for k, said in enumerate(content.split("\n")):
        line = lines[first + k]
        bare = said.lstrip(" \t")
        if num_marks:
            column = line.find(bare, line.find("#" * num_marks) + num_marks)
        else:
            column = len(line.rstrip(" \t")) - len(bare.rstrip(" \t"))
            column = column if line.startswith(bare.rstrip(" \t"), column) else -1
        if column < 0:
            raise _not_found(first + k)
        num_left = len(said) - len(bare)
        starts.append(at)
        columns.append(tuple([column] * num_left + [column + i for i in range(len(bare) + 1)]))
        at += len(said) + 1
    return BlockPosition(first, tuple(starts), tuple(columns))


def find_cell(content: str, lines: Sequence[str], line: int, after: int) -> BlockPosition:
    r"""Where the text of a cell stands, in which `\|` is written for `|`.

    Args:
        content: of the cell.
        lines: of the document.
        line: of the cell.
        after: a column before it, and after all cells before it.
    """
    for start in range(after, len(lines[line])):
        columns = _matched(content, lines[line], start)
        if columns is not None:
            return BlockPosition(line, (0,), (columns,))
    raise _not_found(line)


def _matched(content: str, line: str, start: int) -> tuple[int, ...] | None:
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


def _not_found(line: int) -> FileProblem:
    return FileProblem(
        f"the text that begins at line {line + 1} cannot be told from its marks; part its lines"
    )
