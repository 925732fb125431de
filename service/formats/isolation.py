"""Reads and writes untrusted files in separate processes, which the operating system limits.

Parsers of many formats run on whatever clients send. A file that makes a parser exhaust memory or time ends
the process for that file (`isolated_reader`) and no other. The process is a fresh interpreter with only the
parsers: it has neither the models nor the environment nor the connections of its parent.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event
from typing import BinaryIO

from service.formats.entries import Entry, FileFormat, FileFormatError, FileOptions, TargetText
from service.formats.frames import (
    FrameKind,
    ReaderTask,
    TaskKind,
    frame,
    pack,
    read_frame,
    unpack,
    unpack_entry,
)
from service.formats.limits import COSTLY_CPU_S, FileLimitError, FileLimits
from service.formats.records import Record, RecordKind, parse_records
from service.formats.review_marks import pack_text

_MODULE = "service.formats.isolated_reader"
_PACKAGES = Path(__file__).parents[2]
"""Folder of this project's packages, which `site` may find; a reader starts faster without that module."""
_MIB = 2**20
_STOP_POLL_S = 0.5
"""Seconds between two checks whether a call is to stop while it waits for its process."""

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end a process from outside, whatever it is doing."""


class ReaderError(Exception):
    """A parser has a bug; the message is its traceback, or how its process ended."""


class ReaderStoppedError(Exception):
    """The reader process could not start, or was stopped from outside; the file is not at fault."""


class ReaderSliceOverError(Exception):
    """The process has used up its slice of CPU time; it is to be started again later, with a longer one."""


@dataclass(frozen=True, slots=True)
class IsolatedFormat:
    """A `FileFormat` that runs each call in a process of its own.

    Sources must be regular files. Raises the errors of the format, `FileLimitError`, `ReaderError`,
    `ReaderSliceOverError` and `ReaderStoppedError`.
    """

    inner: FileFormat
    """The wrapped format, which does nothing in this process."""
    file_name: str
    options: FileOptions
    limits: FileLimits
    stop: Event = field(default_factory=Event)
    """Set by another thread to end all calls soon, with a `ReaderStoppedError`."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with self._reader(TaskKind.READ, source) as reader:
            for kind, content in reader.frames():
                if kind is FrameKind.ENTRIES:
                    yield from map(unpack_entry, unpack(content))

    def count(self, source: BinaryIO) -> tuple[int, int]:
        """Return the number of entries and of their characters; the entries stay in the other process."""
        counts = (0, 0)
        with self._reader(TaskKind.COUNT, source) as reader:
            for kind, content in reader.frames():
                if kind is FrameKind.COUNTS:
                    num_entries, num_characters = unpack(content)
                    counts = num_entries, num_characters
        return counts

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        with self._reader(TaskKind.WRITE, source, is_seekable=target.seekable()) as reader:
            for kind, content in reader.frames():
                if kind is FrameKind.CONTENT:
                    target.write(content)
                elif kind is FrameKind.SEEK:
                    target.seek(unpack(content))
                elif kind is FrameKind.WANTED:
                    reader.send(FrameKind.TEXTS, [pack_text(text) for text in islice(texts, unpack(content))])

    def _reader(
        self, kind: TaskKind, source: BinaryIO, *, is_seekable: bool = False
    ) -> AbstractContextManager["_ReaderProcess"]:
        task = ReaderTask(
            kind,
            self.file_name,
            self.options,
            self.limits,
            self.limits.cpu_s_of(os.fstat(source.fileno()).st_size),
            is_seekable,
        )
        return _running_reader(task, source, self.stop)


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads files with records."""

    limits: FileLimits | None = None
    """Limits of the process of its own in which a file is read; None to read it in this process."""
    stop: Event = field(default_factory=Event)
    """Set by another thread to end the reading soon, with a `ReaderStoppedError`."""

    def read(self, kind: RecordKind, source: BinaryIO, languages: tuple[str, str]) -> Iterator[Record]:
        """Yield the records of a file lazily.

        Args:
            kind: kind of the file.
            source: a regular file; without limits, any seekable one.
            languages: source and target language of what to find.

        Raises:
            FileFormatError: the file cannot be read, or exceeds a limit.
            ReaderError, ReaderSliceOverError, ReaderStoppedError: see there.
        """
        if self.limits is None:
            yield from parse_records(kind, source, languages)
            return
        cpu_s = self.limits.cpu_s_of(source.seek(0, os.SEEK_END))
        source.flush()  # the other process has the same file, but not the buffer of this one
        task = ReaderTask(TaskKind.RECORDS, kind, FileOptions(*languages), self.limits, cpu_s)
        with _running_reader(task, source, self.stop) as reader:
            for found, content in reader.frames():
                if found is FrameKind.ENTRIES:
                    yield from unpack(content)


TRUSTED = RecordReader()
"""Reads files of whoever runs this program, in this process."""


@contextmanager
def _running_reader(task: ReaderTask, source: BinaryIO, stop: Event) -> Iterator["_ReaderProcess"]:
    process = _start_reader(source.fileno())
    try:
        size_bytes = os.fstat(source.fileno()).st_size
        reader = _ReaderProcess(process, task, task.limits.wait_s_of(size_bytes), stop)
        reader.send(FrameKind.REQUEST, asdict(task))
        yield reader
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


class _ReaderProcess:
    """Connection to a reader process through its pipes."""

    def __init__(
        self, process: subprocess.Popen[bytes], task: ReaderTask, wait_s: float, stop: Event
    ) -> None:
        if process.stdin is None or process.stdout is None:
            raise ReaderError("the reader process has no pipes")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout.fileno()
        self._limits = task.limits
        self._cpu_s = task.cpu_s
        self._wait_s = wait_s
        self._waited_s = 0.0
        self._stop = stop
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)

    def send(self, kind: FrameKind, content: object) -> None:
        with suppress(BrokenPipeError):  # it has ended, and `frames` raises why
            self._stdin.write(frame(kind, pack(content)))

    def frames(self) -> Iterator[tuple[FrameKind, bytes | bytearray]]:
        """Yield messages until the one that reports success.

        Raises:
            FileFormatError: the file cannot be read, or exceeds a limit.
            ReaderError: a parser has a bug.
            ReaderSliceOverError: the process has used up its slice of CPU time.
            ReaderStoppedError: the process was stopped from outside, or a disk is full.
        """
        while True:
            kind, content = read_frame(self._read)
            match kind:
                case FrameKind.DONE:
                    return
                case FrameKind.PROBLEM:
                    raise FileFormatError(unpack(content))
                case FrameKind.OVER_MEMORY:
                    raise FileLimitError(
                        f"reading it exceeds the limit of {self._limits.memory_bytes // _MIB:,} MiB of "
                        "memory per file; split it into smaller files"
                    )
                case FrameKind.DISK_FULL:
                    raise ReaderStoppedError("the disk for temporary files is full")
                case FrameKind.UNEXPECTED:
                    raise ReaderError(unpack(content))
                case _:
                    yield kind, content

    def _read(self, size: int) -> bytearray:
        content = bytearray(size)
        rest = memoryview(content)
        while rest:
            self._wait()
            num_read = os.readv(self._stdout, [rest])
            if not num_read:
                raise self._exit_error()
            rest = rest[num_read:]
        return content

    def _wait(self) -> None:
        """Wait for the process to write; only these waits count, not the time that this process takes."""
        began_s = time.monotonic()
        left_s = self._wait_s - self._waited_s
        end_s = began_s + min(self._limits.timeout_s, left_s)
        while True:
            if self._stop.is_set():
                raise ReaderStoppedError("it is no longer needed")
            rest_s = end_s - time.monotonic()
            if self._poll.poll(max(min(rest_s, _STOP_POLL_S), 0) * 1000):
                break
            if rest_s <= 0:
                if left_s < self._limits.timeout_s:
                    raise FileLimitError(
                        f"reading it exceeds the limit of {self._wait_s:,.0f} s for a file of its size; "
                        "split it into smaller files"
                    )
                raise FileLimitError(
                    f"reading it made no progress for {self._limits.timeout_s:,.0f} s, the limit of a file; "
                    "split it"
                )
        self._waited_s += time.monotonic() - began_s

    def _exit_error(self) -> Exception:
        """Return the error for a process that ended without a last message."""
        status = self._process.wait()
        if status >= 0:
            return ReaderError(f"the process that reads files ended with status {status}")
        slice_cpu_s = self._limits.slice_cpu_s
        if slice_cpu_s is not None and -status == (
            signal.SIGPROF if slice_cpu_s <= COSTLY_CPU_S else signal.SIGXCPU
        ):
            return ReaderSliceOverError("the process that reads files has used up its CPU time")
        if -status == signal.SIGXCPU:
            return FileLimitError(
                f"reading it exceeds the limit of {self._cpu_s:,.0f} s of CPU time for a file of its size; "
                "split it into smaller files"
            )
        if -status in _STOP_SIGNALS:
            return ReaderStoppedError(
                f"the process that reads files was stopped by {signal.Signals(-status).name}"
            )
        # C libraries abort when the process runs out of memory; the kernel kills when the machine does.
        return FileFormatError(
            f"reading it was stopped by {signal.Signals(-status).name}: it is damaged, or exceeds the memory "
            f"limit of {self._limits.memory_bytes // _MIB:,} MiB per file"
        )


def _start_reader(source: int) -> subprocess.Popen[bytes]:
    """Start a reader process that inherits the file's descriptor; raises ReaderStoppedError."""
    environment = {
        "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(_PACKAGES)]),
        "TMPDIR": tempfile.gettempdir(),
    }
    try:
        return subprocess.Popen(  # noqa: S603 -- this interpreter and a module of this project
            [sys.executable, "-P", "-S", "-X", "utf8", "-m", _MODULE, str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            pass_fds=(source,),
            env=environment,
            process_group=0,  # signals of a terminal are for the parent; in another session `nice` is in vain
        )
    except OSError as error:
        raise ReaderStoppedError(f"the process that reads files could not start: {error}") from error
