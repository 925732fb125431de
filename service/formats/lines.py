"""Line-based files, and plain text in which every line is an entry."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileFormatError
from service.formats.line_bytes import BYTE_ORDER_MARK, split_line
from service.formats.parts import Part, Slot, entries_of, write_parts

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


def read_lines(source: BinaryIO) -> Iterator[Line]:
    """Yield lines lazily, without losing a byte: only LF and CR LF end a line, no other character does.

    Raises:
        FileFormatError: at the first line that is not UTF-8 or longer than `MAX_LINE_BYTES`.
    """
    number = 0
    while line := source.readline(MAX_LINE_BYTES + len(BYTE_ORDER_MARK) + _MAX_ENDING_BYTES):
        number += 1
        mark, content, ending = split_line(line, number)
        if len(content) > MAX_LINE_BYTES:
            raise FileFormatError(f"line {number} is longer than {MAX_LINE_BYTES:,} bytes; split it")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            at = len(mark) + error.start + 1
            raise FileFormatError(
                f"line {number} is not UTF-8: byte 0x{content[error.start]:02x} at position {at} of it; "
                "convert the file to UTF-8 first"
            ) from error
        yield Line(number, mark, text, ending)


class LinesFormat:
    """Plain text in UTF-8: every non-blank line is an entry.

    Line feeds in a translation become spaces, so that line n of the output translates line n of the input.
    """

    def __init__(self, options: FileOptions) -> None:
        """Ignore the options: the format has none."""
        del options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(_parts(source))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        write_parts(_parts(source), texts, target)


def _parts(source: BinaryIO) -> Iterator[Part]:
    for line in read_lines(source):
        own = line.text.encode()
        if not line.text or line.text.isspace():
            yield line.mark + own + line.ending
            continue
        if line.mark:
            yield line.mark
        yield Slot(Entry(line.text, f"line {line.number}"), own, partial(_encode_line, line.ending))
        if line.ending:
            yield line.ending


def _encode_line(ending: bytes, text: str) -> bytes:
    text = text.replace("\r\n", " ").replace("\n", " ")
    # A CR before the LF would make a CR LF ending.
    return (text.rstrip("\r") if ending == b"\n" else text).encode()
