"""Files of lines and tables may be of any size: they are read and written as they stream by."""

import gc
import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
import zstandard
from typing_extensions import Buffer

from service.formats.entries import Entry, FileFormat, FileOptions
from service.formats.known import open_format

OPTIONS = FileOptions("de", "en")
LINE = "Der {0}. Satz dieser Datei, der auch nicht kürzer ist als viele andere in ihr.\n"
READ_AHEAD_BYTES = 2**16

MAKERS: dict[str, Callable[[int], str]] = {
    "a.txt": LINE.format,
    "a.jsonl": lambda i: json.dumps({"id": i, "text": LINE.format(i).strip()}) + "\n",
    "a.csv": lambda i: ("text,id\n" if i == 0 else "") + f'"{LINE.format(i).strip()}",{i}\n',
    "a.srt": lambda i: f"{i}\n00:00:01,000 --> 00:00:02,000\n{LINE.format(i)}\n",
    "a.vtt": lambda i: ("WEBVTT\n\n" if i == 0 else "") + f"00:01.000 --> 00:02.000\n{LINE.format(i)}\n",
}


class Generated(io.RawIOBase):
    """A file that is made as it is read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self.num_read = 0
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        while len(self._rest) < len(view):
            chunk = b"".join(islice(self._chunks, 100))
            if not chunk:
                break
            self._rest += chunk
        size = min(len(view), len(self._rest))
        view[:size], self._rest = self._rest[:size], self._rest[size:]
        self.num_read += size
        return size


class Nowhere(io.RawIOBase):
    """Takes what is written and forgets it."""

    num_written = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Buffer, /) -> int:
        size = memoryview(content).nbytes
        self.num_written += size
        return size


def num_entries_held() -> int:
    return sum(isinstance(held, Entry) for held in gc.get_objects())


def file_of(name: str, num_entries: int) -> tuple[FileFormat, Generated]:
    make = MAKERS[name]
    return open_format(name, OPTIONS), Generated(make(i).encode() for i in range(num_entries))


def test_a_million_lines_are_read_without_holding_them() -> None:
    file_format, source = file_of("a.txt", 1_000_000)
    num_read = num_consumed = 0
    for entry in file_format.read(io.BufferedReader(source)):
        num_consumed += len(entry.text.encode()) + 1
        assert source.num_read - num_consumed <= READ_AHEAD_BYTES
        num_read += 1
        if num_read % 250_000 == 1:
            assert num_entries_held() < 10
    assert num_read == 1_000_000


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_read_and_written_is_not_held(name: str) -> None:
    write_upper(name, 10)  # what is made at the first use, by who watches the tests too, stays
    tracemalloc.start()
    try:
        num_written = write_upper(name, 2500)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert num_written > 200_000
    assert peak_bytes < 2**18


def write_upper(name: str, num_entries: int) -> int:
    """Bytes of a file that was made, read and written as it went by."""
    file_format, source = file_of(name, num_entries)
    _, again = file_of(name, num_entries)
    target = Nowhere()
    texts = (entry.text.upper() for entry in file_format.read(io.BufferedReader(source)))
    file_format.write(io.BufferedReader(again), texts, target)  # type: ignore[arg-type]
    return target.num_written


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_what_is_compressed_is_not_held_either(suffix: str) -> None:
    num_entries = 20_000
    _, source = file_of("a.txt", num_entries)
    packed = io.BytesIO()
    file_format = open_format("a.txt.gz", OPTIONS)
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(source.readall())
    if suffix == ".zst":
        file_format = open_format("a.txt.zst", OPTIONS)
        packed = io.BytesIO(zstandard.compress(gzip.decompress(packed.getvalue())))
    packed.seek(0)
    again = io.BytesIO(packed.getvalue())
    target = Nowhere()
    tracemalloc.start()
    try:
        texts = (entry.text.upper() for entry in file_format.read(packed))
        file_format.write(again, texts, target)  # type: ignore[arg-type]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert target.num_written > 10_000
    assert peak_bytes < 3 * 2**19
