"""Line-based files, and lines that are entries."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from service.formats.entries import Entry, FileFormatError
from service.formats.parts import Part, slot

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


MAX_LINE_BYTES = 10_000_000
"""Maximum length of a line, without its ending; with a longer one, a file is not line-based."""

_MAX_ENDING_BYTES = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line with the bytes around its text; the three parts together are the bytes of the line."""

    number: int
    """Line number from 1."""
    mark: bytes
    """Byte order mark before the first line, or empty."""
    text: str
    ending: bytes
    """LF, CR LF, or empty after a last line without an ending."""


def parse_line(line: bytes, number: int, max_bytes: float = math.inf, container: str = "file") -> Line:
    """Split a line without losing a byte: only LF and CR LF end it, no other character does.

    Args:
        line: line with its ending, as a binary file yields it.
        number: line number from 1; only the first line can have a byte order mark.
        max_bytes: maximum length without the ending.
        container: what to convert if the line is not UTF-8, for the message.

    Raises:
        FileFormatError: it is too long or not UTF-8.
    """
    mark = BYTE_ORDER_MARK if number == 1 and line.startswith(BYTE_ORDER_MARK) else b""
    ending = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
    content = line[len(mark) : len(line) - len(ending)]
    if len(content) > max_bytes:
        raise FileFormatError(f"line {number} is longer than {max_bytes:,} bytes; split it")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        at = len(mark) + error.start + 1
        raise FileFormatError(
            f"line {number} is not UTF-8: byte 0x{content[error.start]:02x} at position {at} of it; "
            f"convert the {container} to UTF-8 first"
        ) from error
    return Line(number, mark, text, ending)


def read_lines(source: BinaryIO) -> Iterator[Line]:
    """Yield lines lazily, without losing a byte.

    Raises:
        FileFormatError: at the first line that is not UTF-8 or longer than `MAX_LINE_BYTES`.
    """
    number = 0
    while line := source.readline(MAX_LINE_BYTES + len(BYTE_ORDER_MARK) + _MAX_ENDING_BYTES):
        number += 1
        yield parse_line(line, number, MAX_LINE_BYTES)


def line_parts(line: Line) -> Iterator[Part]:
    """Yield the parts of a line that is an entry unless it is blank.

    Line feeds in a translation become spaces, so that line n of the output translates line n of the input.
    """
    raw = line.text.encode()
    if not line.text or line.text.isspace():
        yield line.mark + raw + line.ending
        return
    if line.mark:
        yield line.mark
    yield slot(Entry(line.text, f"line {line.number}"), raw, partial(encode_line, line.ending))
    if line.ending:
        yield line.ending


def encode_line(ending: bytes, text: str) -> bytes:
    """Return a text as one line, without the ending that follows it."""
    text = text.replace("\r\n", " ").replace("\n", " ")
    # A CR before the LF would make a CR LF ending.
    return (text.rstrip("\r") if ending == b"\n" else text).encode()
