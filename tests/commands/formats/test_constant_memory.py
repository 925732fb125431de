"""Files of lines and tables may be of any size; hostile files end their own process, and no other."""

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest
import zstandard
from typing_extensions import Buffer

from bench.hostile.files import LARGE, large_file
from bench.hostile.pdf import PDFS, one_page, stream, text_at
from service.formats.entries import FileFormatError, FileOptions, TargetText
from service.formats.limits import FileLimitError, FileLimits
from service.formats.parts import ChunkReader
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from tests.formats.rewriting import OPTIONS, saved, target_text

LINE = "Der {0}. Satz dieser Datei, " + "der auch nicht kürzer ist als viele andere in ihr, " * 6 + "ja.\n"
MAKERS: dict[str, Callable[[int], str]] = {
    "a.txt": LINE.format,
    "a.jsonl": lambda i: json.dumps({"id": i, "text": LINE.format(i).strip()}) + "\n",
    "a.csv": lambda i: ("text,id\n" if i == 0 else "") + f'"{LINE.format(i).strip()}",{i}\n',
    "a.srt": lambda i: f"{i}\n00:00:01,000 --> 00:00:02,000\n{LINE.format(i)}\n",
    "a.vtt": lambda i: ("WEBVTT\n\n" if i == 0 else "") + f"00:01.000 --> 00:02.000\n{LINE.format(i)}\n",
}


PACKERS: dict[str, Callable[[bytes], bytes]] = {"a.txt.gz": gzip.compress, "a.txt.zst": zstandard.compress}


def sources(name: str, num_entries: int) -> list[io.BytesIO | io.BufferedReader]:
    """A file twice: it is made as it is read, or else compressed."""
    make = MAKERS[name.removesuffix(".gz").removesuffix(".zst")]

    def chunks() -> Iterator[bytes]:
        return (make(i).encode() for i in range(num_entries))

    if name in PACKERS:
        return [io.BytesIO(PACKERS[name](b"".join(chunks()))) for _ in range(2)]
    return [io.BufferedReader(ChunkReader(chunks())) for _ in range(2)]


class Nowhere(io.RawIOBase):
    """Takes what is written and forgets it."""

    num_written = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Buffer, /) -> int:
        size = memoryview(content).nbytes
        self.num_written += size
        return size


def write_upper(name: str, num_entries: int) -> tuple[int, int]:
    """Bytes of a file that was made, read and written as it went by, and of the memory for that at most."""
    file_format, target = open_format(name, OPTIONS), Nowhere()
    first, again = sources(name, num_entries)
    tracemalloc.start()
    try:
        texts = (target_text(MarkedText(entry.text.upper())) for entry in file_format.read(first))
        file_format.write(again, texts, target)  # type: ignore[arg-type]
        return target.num_written, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write_upper_again(name: str, num_entries: int) -> tuple[int, int]:
    """The same, after a first time for what stays: modules, caches."""
    write_upper(name, 10)
    return write_upper(name, num_entries)


@pytest.fixture(scope="module")
def other_process() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: in this one, threads of other tests may still run and take memory."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(
    ("name", "num_entries", "limit_bytes"),
    [*((name, 1_500, 2**18) for name in MAKERS), *((name, 10_000, 5 * 2**19) for name in PACKERS)],
)
def test_content_read_and_written_is_not_kept_in_memory(
    other_process: ProcessPoolExecutor, name: str, num_entries: int, limit_bytes: int
) -> None:
    num_written, peak_bytes = other_process.submit(write_upper_again, name, num_entries).result()

    assert num_written > (10_000 if name in PACKERS else limit_bytes)
    assert peak_bytes < limit_bytes


LIMITS = FileLimits(memory_bytes=2**27, cpu_s=20)
MEMORY = "stopped by SIGABRT.*memory limit of 128 MiB|limit of 128 MiB of memory"
REJECTED: Mapping[str, str] = {
    "a.pdf of runs of ' '": MEMORY,
    "a bomb in a bomb": MEMORY,
    "many characters": MEMORY,
    "forms that multiply": MEMORY,
    "a form in itself": "it has no text",
    "pages in themselves": "page 1 cannot be read",
    "many pages": "it has 6,000 pages",
    "missing pages": "it has 99,999 pages",
}
"""Problems of files over a limit; the other PDF files are read."""


def test_the_format_of_the_output_reaches_the_other_process(tmp_path: Path) -> None:
    options = FileOptions("de", "en", output=".txt")
    with (
        saved(tmp_path, one_page(stream(text_at(70, 700, b"Text")))) as source,
        (tmp_path / "out").open("wb") as target,
    ):
        open_format("a.pdf", options, LIMITS).write(source, iter([TargetText(MarkedText("Wort"))]), target)

    assert (tmp_path / "out").read_bytes() == b"Wort\n"


def read(title: str, folder: Path) -> list[str]:
    """Texts of a file that is read in another process."""
    name, content = large_file(title)
    with saved(folder, content) as source:
        return [entry.text for entry in open_format(name, OPTIONS, LIMITS).read(source)]


@pytest.mark.parametrize("title", REJECTED)
def test_a_file_over_a_limit_is_rejected(title: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=REJECTED[title]):
        read(title, tmp_path)


@pytest.mark.parametrize("title", sorted(PDFS.keys() - REJECTED.keys()))
def test_a_strange_file_within_the_limits_is_read(title: str, tmp_path: Path) -> None:
    assert "Text" in read(title, tmp_path)


@pytest.mark.parametrize("title", LARGE)
def test_long_files_are_read_or_rejected_within_the_limit_of_cpu_time(title: str, tmp_path: Path) -> None:
    name, content = large_file(title)
    with saved(tmp_path, content) as source, suppress(FileFormatError):
        try:
            for _ in open_format(name, OPTIONS, FileLimits(cpu_s=10)).read(source):
                pass
        except FileLimitError as error:
            raise AssertionError("it took too long") from error
