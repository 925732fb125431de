"""Messages between a process and the one that reads a file for it: a kind, a length and content."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from service.formats.entries import Entry
from service.markup.options import MarkupLanguage, MarkupOptions

HEADER = struct.Struct(">cQ")
"""Kind and number of bytes."""


class FrameKind(Enum):
    """Who sends it, and what is in it."""

    REQUEST = b"R"
    """To the reader, first: what to do, as JSON."""
    TEXTS = b"T"
    """To the reader: the texts asked for, as JSON; fewer than asked for are the last."""
    ENTRIES = b"E"
    """From the reader: entries, as JSON."""
    WANTED = b"N"
    """From the reader: it waits for so many texts."""
    CONTENT = b"W"
    """From the reader: bytes of the file that is written."""
    SEEK = b"S"
    """From the reader: where the next content goes."""
    PROBLEM = b"P"
    """From the reader, last: what is wrong with the file."""
    OVER_MEMORY = b"M"
    """From the reader, last: memory is used up."""
    UNEXPECTED = b"X"
    """From the reader, last: a traceback."""
    DONE = b"D"
    """From the reader, last."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a reader is to do."""

    file_name: str
    """Whose end tells the format."""
    source: str
    target: str
    columns: list[str]
    memory_bytes: int
    cpu_s: float
    is_written: bool
    """Whether texts are filled in, and not entries read."""
    is_seekable: bool = False
    """Whether the file that is written can be sought in."""


def frame(kind: FrameKind, content: bytes = b"") -> bytes:
    """Return a message as it is sent."""
    return HEADER.pack(kind.value, len(content)) + content


def read_frame(read: Callable[[int], bytes]) -> tuple[FrameKind, bytes]:
    """Return the next message.

    Args:
        read: returns exactly so many bytes.
    """
    kind, size = HEADER.unpack(read(HEADER.size))
    return FrameKind(kind), read(size) if size else b""


def pack(content: object) -> bytes:
    """Return JSON in ASCII, in which lone surrogates are written too."""
    return json.dumps(content).encode()


def unpack(content: bytes) -> Any:
    """Return what `pack` was given."""
    return json.loads(content)


def pack_entry(entry: Entry) -> list[object]:
    """Return an entry as JSON has it."""
    markup = entry.markup
    if markup is None:
        return [entry.text, entry.place]
    tags = (markup.ignore_tags, markup.splitting_tags, markup.non_splitting_tags)
    return [
        entry.text,
        entry.place,
        [markup.language, *(sorted(names) for names in tags), markup.finds_outline],
    ]


def unpack_entry(packed: list[Any]) -> Entry:
    """Return what `pack_entry` was given."""
    text, place, *markups = packed
    if not markups:
        return Entry(text, place)
    [(language, ignored, splitting, non_splitting, finds_outline)] = markups
    tags = (frozenset(ignored), frozenset(splitting), frozenset(non_splitting))
    return Entry(text, place, MarkupOptions(MarkupLanguage(language), *tags, finds_outline))
