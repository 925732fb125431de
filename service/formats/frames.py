"""Messages between a process and the isolated reader of its file: kind, length and content."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from service.formats.entries import Entry, FileOptions, entry_of
from service.formats.limits import FileLimits
from service.text.marked_text import MarkedText

HEADER = struct.Struct(">cQ")
"""Kind, and number of bytes of the content."""


class FrameKind(Enum):
    """Kind of a message, which determines the sender and the content."""

    REQUEST = b"R"
    """To the reader, first: a `ReaderTask` as JSON."""
    TEXTS = b"T"
    """To the reader: the requested texts as JSON; if fewer than requested, these are the last."""
    ENTRIES = b"E"
    """From the reader: entries or records as JSON."""
    COUNTS = b"C"
    """From the reader: number of entries and of their characters so far."""
    WANTED = b"N"
    """From the reader: number of texts that it requests."""
    CONTENT = b"W"
    """From the reader: bytes of the output file."""
    SEEK = b"S"
    """From the reader: position of the next content in the output file."""
    PROBLEM = b"P"
    """From the reader, last: what is wrong with the file."""
    OVER_MEMORY = b"M"
    """From the reader, last: it ran out of memory."""
    DISK_FULL = b"F"
    """From the reader, last: the disk for temporary files is full."""
    UNEXPECTED = b"X"
    """From the reader, last: a traceback."""
    DONE = b"D"
    """From the reader, last: it succeeded."""


class TaskKind(StrEnum):
    """Work of an isolated reader with its file."""

    READ = "read"
    """Send the entries."""
    COUNT = "count"
    """Count the entries: they stay in the reader."""
    WRITE = "write"
    """Write the file with texts in place of its entries."""
    RECORDS = "records"
    """Send the records of a file of a `RecordKind`."""


@dataclass(frozen=True, slots=True)
class ReaderTask:
    """Task of an isolated reader."""

    kind: str
    """A `TaskKind`."""
    file_name: str
    """Name whose suffix determines the format; for records, their kind."""
    options: FileOptions
    limits: FileLimits
    cpu_s: float
    """CPU time in seconds that a file of this size may use."""
    is_seekable: bool = False
    """Whether the output file is seekable."""


def unpack_task(content: bytes | bytearray) -> ReaderTask:
    """Return the task of which `asdict` was packed."""
    found = unpack(content)
    options, limits = found.pop("options"), FileLimits(**found.pop("limits"))
    columns = tuple(options.pop("columns"))
    return ReaderTask(options=FileOptions(**options, columns=columns), limits=limits, **found)


def frame(kind: FrameKind, content: bytes = b"") -> bytes:
    """Return a message as bytes."""
    return HEADER.pack(kind.value, len(content)) + content


def read_frame(read: Callable[[int], bytes | bytearray]) -> tuple[FrameKind, bytes | bytearray]:
    """Return the next message.

    Args:
        read: returns exactly the requested number of bytes.
    """
    kind, size = HEADER.unpack(read(HEADER.size))
    return FrameKind(kind), read(size) if size else b""


def pack(content: object) -> bytes:
    """Return content as JSON, which may hold lone surrogates."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpack(content: bytes | bytearray) -> Any:
    """Return the content that `pack` encoded."""
    return json.loads(content.decode("utf-8", "surrogatepass"))


def pack_entry(entry: Entry) -> list[object]:
    """Return an entry as a JSON list."""
    return [entry.marked.to_json(), entry.location, entry.is_message]


def unpack_entry(packed: list[Any]) -> Entry:
    """Return the entry that `pack_entry` encoded."""
    marked, location, is_message = packed
    return entry_of(MarkedText.from_json(marked), location, is_message=is_message)
