"""The process that reads or writes one file for its parent process: see `isolation`.

It takes the request on standard input, replies on standard output, and imports only parsers.
"""

import errno
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from service.formats.entries import Entry, FileFormatError, TargetText
from service.formats.frames import (
    FrameKind,
    ReaderTask,
    TaskKind,
    frame,
    pack,
    pack_entry,
    read_frame,
    unpack,
    unpack_task,
)
from service.formats.limits import COSTLY_CPU_S, apply_limits
from service.formats.registry import open_format
from service.formats.review_marks import unpack_text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAX_ENTRY_CHARACTERS = 1_000_000
"""Maximum length of an entry, and of a record as JSON: the parent process holds many at a time, and prepares
each as a whole."""
MAX_LOCATION_CHARACTERS = 1000
"""Maximum length of an entry's location, which may include names from the file."""
NICENESS = 5
"""Its parent process and the engine go first: with all CPUs in use, it gets about a quarter of one."""
COSTLY_NICENESS = 12
"""With all CPUs in use, the reader of a costly file gets about 6 % of one; several had half of all."""
_BATCH_ENTRIES = 64
_COUNTED_ENTRIES = 1000
"""Number of entries between two messages with counts, which show the parent that the file is being read."""
_BATCH_CHARACTERS = 2**15
_TEXTS_PER_REQUEST = 64
_BUFFER_BYTES = 2**18


def main() -> None:
    """Execute the request on standard input for the file whose descriptor is the argument."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends when its parent does
    os.dup2(2, 1)  # output of a library must not mix with replies
    _, content = read_frame(requests.read)
    request = unpack_task(content)
    limits = request.limits
    slice_cpu_s = limits.slice_cpu_s or request.cpu_s
    apply_limits(limits.memory_bytes, min(request.cpu_s, slice_cpu_s), limits.max_bytes)
    os.nice(NICENESS)
    is_ended = slice_cpu_s <= COSTLY_CPU_S
    signal.signal(signal.SIGPROF, signal.SIG_DFL if is_ended else _become_costly)
    signal.setitimer(signal.ITIMER_PROF, COSTLY_CPU_S)
    try:
        with os.fdopen(int(sys.argv[1]), "rb") as source:  # at most 10 digits, of our own process
            _execute(request, source, requests, replies)
        replies.write(frame(FrameKind.DONE))
    except BrokenPipeError:
        return  # the parent no longer waits
    except FileFormatError as error:
        replies.write(frame(FrameKind.PROBLEM, pack(error.problem)))
    except MemoryError:
        replies.write(frame(FrameKind.OVER_MEMORY))
    except Exception as error:  # noqa: BLE001 -- the parent raises it again
        replies.write(_error_frame(error))


def _become_costly(*_: object) -> None:
    os.nice(COSTLY_NICENESS - NICENESS)


def _error_frame(error: Exception) -> bytes:
    """Return the message about an error that no parser raises by itself."""
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return frame(FrameKind.DISK_FULL)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        problem = "it takes more bytes on disk to read than a file may have; split it"
        return frame(FrameKind.PROBLEM, pack(problem))
    import traceback  # noqa: PLC0415 -- few readers need it, and each would load it

    return frame(FrameKind.UNEXPECTED, pack("".join(traceback.format_exception(error))))


def _execute(request: ReaderTask, source: BinaryIO, requests: BinaryIO, replies: io.FileIO) -> None:
    source.seek(0)
    options = replace(request.options, max_bytes=request.limits.max_bytes)
    match TaskKind(request.kind):
        case TaskKind.RECORDS:
            from service.formats.records import RecordKind, parse_records  # noqa: PLC0415 -- the same

            languages = options.source, options.target
            records = parse_records(RecordKind(request.file_name), source, languages)
            _send(replies, ((record, _record_characters(record)) for record in records))
        case TaskKind.WRITE:
            target = _PipeWriter(replies, is_seekable=request.is_seekable)
            with io.BufferedWriter(target, _BUFFER_BYTES) as buffered:
                texts = _texts(requests, replies)
                open_format(request.file_name, options).write(source, texts, cast("BinaryIO", buffered))
        case TaskKind.COUNT:
            _send_counts(replies, open_format(request.file_name, options).read(source), options.max_bytes)
        case TaskKind.READ:
            entries = open_format(request.file_name, options).read(source)
            _send(replies, ((pack_entry(entry), _entry_characters(entry)) for entry in entries))


def _send(replies: io.FileIO, items: Iterator[tuple[list[Any], int]]) -> None:
    """Send items, each with its number of characters, in batches."""
    batch: list[list[Any]] = []
    num_characters = 0
    for item, size in items:
        batch.append(item)
        num_characters += size
        if len(batch) == _BATCH_ENTRIES or num_characters > _BATCH_CHARACTERS:
            replies.write(frame(FrameKind.ENTRIES, pack(batch)))
            batch, num_characters = [], 0
    replies.write(frame(FrameKind.ENTRIES, pack(batch)))


def _send_counts(replies: io.FileIO, entries: Iterator[Entry], max_bytes: int | None) -> None:
    """Send how many entries there are so far, now and then and at the end.

    Raises:
        FileFormatError: a file that repeats some of its bytes has more text than a plain file may have.
    """
    num_entries = num_characters = 0
    for entry in entries:
        num_entries += 1
        num_characters += _entry_characters(entry)
        if max_bytes is not None and num_entries + num_characters > max_bytes:
            raise FileFormatError(
                f"it has more than {max_bytes:,} texts and characters together, the limit of a file; split it"
            )
        if num_entries % _COUNTED_ENTRIES == 0:
            replies.write(frame(FrameKind.COUNTS, pack([num_entries, num_characters])))
    replies.write(frame(FrameKind.COUNTS, pack([num_entries, num_characters])))


def _record_characters(record: list[Any]) -> int:
    """Return the size of a record; raise FileFormatError if the parent process cannot hold it."""
    size = len(json.dumps(record, ensure_ascii=False))
    if size > MAX_ENTRY_CHARACTERS:
        raise FileFormatError(
            f"a unit or line has {size:,} characters, more than {MAX_ENTRY_CHARACTERS:,}; split it"
        )
    return size


def _entry_characters(entry: Entry) -> int:
    """Return the length of an entry; raise FileFormatError if the parent process cannot hold it."""
    if len(entry.location) > MAX_LOCATION_CHARACTERS:
        raise FileFormatError(
            f"{entry.location[:80]}...: the name has {len(entry.location):,} characters, more than "
            f"{MAX_LOCATION_CHARACTERS:,}; shorten it"
        )
    if len(entry.text) > MAX_ENTRY_CHARACTERS:
        raise FileFormatError(
            f"{entry.location}: the text has {len(entry.text):,} characters, more than "
            f"{MAX_ENTRY_CHARACTERS:,}; split it"
        )
    return len(entry.text)


def _texts(requests: BinaryIO, replies: io.FileIO) -> Iterator[TargetText]:
    for _ in count():
        replies.write(frame(FrameKind.WANTED, pack(_TEXTS_PER_REQUEST)))
        _, content = read_frame(requests.read)
        texts = unpack(content)
        yield from map(unpack_text, texts)
        if len(texts) < _TEXTS_PER_REQUEST:
            return


class _PipeWriter(io.RawIOBase):
    """The output file, which the parent process writes."""

    def __init__(self, replies: io.FileIO, *, is_seekable: bool) -> None:
        super().__init__()
        self._replies = replies
        self._is_seekable = is_seekable
        self._position = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._is_seekable

    def write(self, data: "ReadableBuffer", /) -> int:
        content = bytes(data)
        self._replies.write(frame(FrameKind.CONTENT, content))
        self._position += len(content)
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if not self._is_seekable or whence == io.SEEK_END:
            raise io.UnsupportedOperation("seek")
        position = offset + (self._position if whence == io.SEEK_CUR else 0)
        if position != self._position:
            self._replies.write(frame(FrameKind.SEEK, pack(position)))
            self._position = position
        return position

    def tell(self) -> int:
        if not self._is_seekable:
            raise io.UnsupportedOperation("tell")
        return self._position


if __name__ == "__main__":
    main()
