"""Text in lines: in UTF-8, in UTF-16 or UTF-32 with a byte order mark, or in Windows-1252."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import BinaryIO, cast

from service.formats.cue_text import TagStyle, break_lines
from service.formats.encodings import MAX_MARK_BYTES, UTF_8, encoding_from_mark
from service.formats.entries import Entry, FileFormatError
from service.formats.lines import Line, line_parts, read_lines
from service.formats.parts import BytesFormat, ChunkReader, Part, encode, slot
from service.text.tokens import InlineItem, TokenKind

_CHUNK_BYTES = 2**14


class EncodedFormat(BytesFormat):
    """Base of formats of lines. The output has the encoding and the mark of the input."""

    def parse(self, source: BinaryIO) -> tuple[Iterator[Part], Callable[[bytes], bytes]]:
        """See `TextFormat`; a source in UTF-8 need not be seekable."""
        lines, encoding = _open_lines(source)
        is_utf_8 = encoding == UTF_8
        return self.parts(lines), bytes if is_utf_8 else lambda content: encode(content.decode(), encoding)


class PlainTextFormat(EncodedFormat):
    """Plain text: every non-blank line is an entry, or the lines of a wrapped paragraph are one.

    With the option `join_lines`, the lines of every paragraph are.
    """

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        """Yield the parts of a file lazily."""
        width = 0
        for lines in _paragraphs(read_lines(source), parts_items=self.options.join_lines):
            is_joined = self.options.join_lines and len(lines) > 1
            if is_joined or _is_wrapped([line.text for line in lines], width):
                width = max(len(line.text) for line in lines)
                yield from _paragraph_parts(lines)
            else:
                for line in lines:
                    yield from line_parts(line)


_MAX_LINES = 100
"""Lines of a paragraph."""
_ITEM = re.compile(r"\s*+(?:[-*+•\u2013]|\w{1,3}[.)])\s")
"""Beginning of a line that is an item of a list."""
_MIN_WIDTH, _MIN_LINES, _MIN_WORDS = 20, 3, 3
_STOPS = (".", "!", "?", ":", ";")


def _paragraphs(lines: Iterator[Line], *, parts_items: bool) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph, and each blank line alone. Items of lists may be paragraphs."""
    found: list[Line] = []
    for line in lines:
        goes_on = bool(found and found[-1].text.strip() and line.text.strip()) and len(found) < _MAX_LINES
        if found and not (goes_on and not (parts_items and _ITEM.match(line.text))):
            yield found
            found = []
        found.append(line)
    if found:
        yield found


def _is_wrapped(lines: Sequence[str], width: int) -> bool:
    """Return whether nine of ten lines of a paragraph end where the next word would exceed its width.

    Args:
        lines: lines of the paragraph.
        width: width of the paragraph before it that is wrapped; 0 if there is none.
    """
    if len(lines) < (2 if width else _MIN_LINES):
        return False
    own_width = max(map(len, lines))
    width = width if len(lines) < _MIN_LINES and own_width <= width else own_width
    full = [len(one.rstrip()) + 1 + len(after.split()[0]) > width for one, after in pairwise(lines)]
    goes_on = [not one.rstrip().endswith(_STOPS) for one in lines[:-1]]
    return (
        width >= _MIN_WIDTH
        and 10 * sum(full) >= 9 * len(full)
        and 2 * sum(goes_on) >= len(full)
        and all(len(one.split()) >= _MIN_WORDS for one in lines[:-1])
        and any(after.lstrip()[:1].islower() for after in lines[1:])
    )


def _paragraph_parts(lines: Sequence[Line]) -> Iterator[Part]:
    texts = [line.text.strip() for line in lines]
    raw = b"".join(line.text.encode() + line.ending for line in lines)

    def render(text: str) -> bytes:
        items = [InlineItem(TokenKind.TEXT, text)]
        broken = break_lines(items, TagStyle.SRT, [len(one) for one in texts])
        endings = [*(line.ending for line in lines[: max(0, len(broken) - 1)]), lines[-1].ending]
        indents = [line.text[: len(line.text) - len(line.text.lstrip())] for line in lines]
        return "".join(
            indent + one + ending.decode()
            for indent, one, ending in zip(indents, broken or [""], endings, strict=False)
        ).encode()

    yield lines[0].mark
    location = f"lines {lines[0].number} to {lines[-1].number}"
    yield slot(Entry(" ".join(texts), location), raw, render)


def _open_lines(source: BinaryIO) -> tuple[BinaryIO, str]:
    """Return the lines in UTF-8, and the file's encoding."""
    beginning = source.read(MAX_MARK_BYTES)
    marked = encoding_from_mark(beginning)
    encoding = UTF_8 if marked is None else marked.encoding
    if marked is None and source.seekable():
        source.seek(0)
        encoding = _LEGACY if _is_legacy(source) else UTF_8
        source.seek(0)
        beginning = b""
    rest: Iterator[bytes] = iter(lambda: source.read(_CHUNK_BYTES), b"")
    chunks: Iterator[bytes] = chain([beginning], rest)
    chunks = chunks if encoding == UTF_8 else _recoded(chunks, encoding)
    return cast("BinaryIO", io.BufferedReader(ChunkReader(chunks), _CHUNK_BYTES)), encoding


_LEGACY = "cp1252"
_NUM_CLEAR = 1000
"""Characters of UTF-8 without which a file is read to its end."""
_VALID, _INVALID = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]"), re.compile("[\udc80-\udcff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffd]")
"""Characters of no text; U+FFFD stands for bytes that Windows-1252 lacks."""


def _is_legacy(source: BinaryIO) -> bool:
    """Return whether a file is not UTF-8, but may be Windows-1252: most of what is not ASCII is no UTF-8."""
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    num_valid = num_invalid = 0
    for chunk in chain(iter(lambda: source.read(_CHUNK_BYTES), b""), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        if text.isascii():
            continue
        num_valid += len(_VALID.findall(text))
        num_invalid += len(_INVALID.findall(text))
        is_clear = num_valid > num_invalid + _NUM_CLEAR
        if is_clear or (num_invalid and _NO_TEXT.search(chunk.decode(_LEGACY, "replace"))):
            return False
    return num_invalid > num_valid


def _recoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield content converted to UTF-8, with its byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    num_read = 0
    for chunk in chain(filter(None, chunks), [b""]):
        num_pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = num_read - num_pending + error.start
            raise FileFormatError(
                f"it is not in {encoding}, which its byte order mark declares: byte {at} "
                f"(counted from 0): {error.reason}; save it in UTF-8"
            ) from error
        num_read += len(chunk)
        yield text.encode()
