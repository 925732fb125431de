"""Splits the bytes of a line into byte order mark, content and ending."""

from typing import NamedTuple

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineBytes(NamedTuple):
    """The three parts of a line; concatenated, they are the line."""

    mark: bytes
    """Byte order mark before the first line, or empty."""
    content: bytes
    """Bytes of its text."""
    ending: bytes
    """LF, CR LF, or empty after a last line without an ending."""


def split_line(line: bytes, number: int) -> LineBytes:
    """Split a line without losing a byte: only LF and CR LF end it, no other character does.

    Args:
        line: line with its ending, as a binary file yields it.
        number: line number from 1; only the first line can have a byte order mark.
    """
    mark = BYTE_ORDER_MARK if number == 1 and line.startswith(BYTE_ORDER_MARK) else b""
    ending = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
    return LineBytes(mark, line[len(mark) : len(line) - len(ending)], ending)
