"""A line as its bytes, and where its text begins and ends in them."""

from typing import NamedTuple

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineBytes(NamedTuple):
    """A line taken apart; the three together are the line."""

    mark: bytes
    """A byte order mark before the first line, or nothing."""
    content: bytes
    """Of its text."""
    ending: bytes
    """LF, CR LF, or nothing after a last line that has none."""


def split_line(line: bytes, number: int) -> LineBytes:
    """Take a line apart, losing nothing: only LF and CR LF end it, no other character does.

    Args:
        line: with its ending, as a binary file yields it.
        number: of the line, from 1; a byte order mark stands before the first one alone.
    """
    mark = BYTE_ORDER_MARK if number == 1 and line.startswith(BYTE_ORDER_MARK) else b""
    ending = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
    return LineBytes(mark, line[len(mark) : len(line) - len(ending)], ending)
