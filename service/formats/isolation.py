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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import BinaryIO

from service.formats.entries import Entry, FileFormat, FileFormatError, FileOptions
from service.formats.frames import FrameKind, ReaderTask, frame, pack, read_frame, unpack, unpack_entry
from service.formats.limits import FileLimits, cpu_limit_error, memory_limit_error, time_limit_error
from service.formats.review_marks import pack_text

_MODULE = "service.formats.isolated_reader"
_PIPE_BYTES = 2**16


_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end a process from outside, whatever it is doing."""


class ReaderError(Exception):
    """A parser has a bug; the message is its traceback, or how its process ended."""


class ReaderStoppedError(Exception):
    """The reader process could not start, or was stopped from outside; the file is not at fault."""


@dataclass(frozen=True, slots=True)
class IsolatedFormat:
    """A `FileFormat` that runs each call in a process of its own.

    Sources must be regular files. Raises the errors of the format, `FileLimitError`, `ReaderError` and
    `ReaderStoppedError`.
    """

    inner: FileFormat
    """The wrapped format, which does nothing in this process."""
    file_name: str
    options: FileOptions
    limits: FileLimits

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with self._reader(source, is_written=False) as reader:
            for kind, content in reader.frames():
                if kind is FrameKind.ENTRIES:
                    yield from map(unpack_entry, unpack(content))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        with self._reader(source, is_written=True, is_seekable=target.seekable()) as reader:
            for kind, content in reader.frames():
                if kind is FrameKind.CONTENT:
                    target.write(content)
                elif kind is FrameKind.SEEK:
                    target.seek(unpack(content))
                elif kind is FrameKind.WANTED:
                    reader.send(FrameKind.TEXTS, [pack_text(text) for text in islice(texts, unpack(content))])

    @contextmanager
    def _reader(
        self, source: BinaryIO, *, is_written: bool, is_seekable: bool = False
    ) -> Iterator["_ReaderProcess"]:
        options, limits = self.options, self.limits
        cpu_s = limits.cpu_s_of(os.fstat(source.fileno()).st_size)
        request = ReaderTask(
            self.file_name,
            options.source,
            options.target,
            list(options.columns),
            options.output,
            limits.memory_bytes,
            cpu_s,
            is_written,
            is_seekable,
        )
        process = _start_reader(source.fileno())
        try:
            reader = _ReaderProcess(process, limits, cpu_s)
            reader.send(FrameKind.REQUEST, asdict(request))
            yield reader
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


class _ReaderProcess:
    """Connection to a reader process through its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], limits: FileLimits, cpu_s: float) -> None:
        if process.stdin is None or process.stdout is None:
            raise ReaderError("the reader process has no pipes")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout.fileno()
        self._limits = limits
        self._cpu_s = cpu_s
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)

    def send(self, kind: FrameKind, content: object) -> None:
        with suppress(BrokenPipeError):  # it has ended, and `frames` raises why
            self._stdin.write(frame(kind, pack(content)))

    def frames(self) -> Iterator[tuple[FrameKind, bytes]]:
        """Yield messages until the one that reports success.

        Raises:
            FileFormatError: the file cannot be read, or exceeds a limit.
            ReaderFailed: a parser has a bug.
            ReaderStoppedError: the process was stopped from outside.
        """
        while True:
            kind, content = read_frame(self._read)
            match kind:
                case FrameKind.DONE:
                    return
                case FrameKind.PROBLEM:
                    raise FileFormatError(unpack(content))
                case FrameKind.OVER_MEMORY:
                    raise memory_limit_error(self._limits.memory_bytes)
                case FrameKind.UNEXPECTED:
                    raise ReaderError(unpack(content))
                case _:
                    yield kind, content

    def _read(self, size: int) -> bytes:
        chunks: list[bytes] = []
        while size:
            if not self._poll.poll(self._limits.timeout_s * 1000):
                raise time_limit_error(self._limits.timeout_s)
            chunk = os.read(self._stdout, min(size, _PIPE_BYTES))
            if not chunk:
                raise self._exit_error()
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _exit_error(self) -> Exception:
        """Return the error for a process that ended without a last message."""
        status = self._process.wait()
        if status >= 0:
            return ReaderError(f"the process that reads files ended with status {status}")
        if -status == signal.SIGXCPU:
            return cpu_limit_error(self._cpu_s)
        if -status in _STOP_SIGNALS:
            return ReaderStoppedError(
                f"the process that reads files was stopped by {signal.Signals(-status).name}"
            )
        # C libraries abort when the process runs out of memory; the kernel kills when the machine does.
        return FileFormatError(
            f"reading it was stopped by {signal.Signals(-status).name}: it is damaged, or exceeds the memory "
            f"limit of {self._limits.memory_bytes // 2**20:,} MiB per file"
        )


def _start_reader(source: int) -> subprocess.Popen[bytes]:
    """Start a reader process that inherits the file's descriptor; raises ReaderStoppedError."""
    environment = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TMPDIR": tempfile.gettempdir(),
    }
    try:
        return subprocess.Popen(  # noqa: S603 -- this interpreter and a module of this project
            [sys.executable, "-P", "-X", "utf8", "-m", _MODULE, str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            pass_fds=(source,),
            env=environment,
            start_new_session=True,  # an interrupt at the terminal is only for the parent
        )
    except OSError as error:
        raise ReaderStoppedError(f"the process that reads files could not start: {error}") from error
