"""Files of others are read in processes of their own: what one of them costs hurts nobody else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer

import pytest

from service.formats.entries import Entry, FileFormat, FileFormatError
from service.formats.isolated_reader import COSTLY_NICENESS
from service.formats.isolation import (
    IsolatedFormat,
    ReaderError,
    ReaderSliceOverError,
    ReaderStoppedError,
    RecordReader,
)
from service.formats.limits import COSTLY_CPU_S, FileLimitError, FileLimits
from service.formats.records import RecordKind
from service.formats.registry import open_format
from service.text.outcome import TextOrigin
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import OPTIONS, saved, shouted, target_text
from tests.formats.string_samples import SAMPLES

ROOMY = FileLimits()
LONG = b"x\n" * 200_000
"""Lines enough for a reader to be at work still when the first are read."""


def _isolated(name: str, limits: FileLimits = ROOMY, stop: Event | None = None) -> IsolatedFormat:
    found = open_format(name, OPTIONS, limits, stop)
    assert isinstance(found, IsolatedFormat)
    return found


def _rewritten(file_format: FileFormat, folder: Path, content: bytes) -> tuple[list[Entry], bytes]:
    """Entries of a file, and the file with texts in capitals that a machine translated."""
    with saved(folder, content) as source:
        found = list(file_format.read(source))
    target = folder / "target"
    with saved(folder, content) as source, target.open("wb") as written:
        marked = [target_text(shouted(entry).marked, TextOrigin.MACHINE, 0.5) for entry in found]
        file_format.write(source, iter(marked), written)
    return found, target.read_bytes()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        *(
            (suffix, FILES[suffix][0])
            for suffix in (
                ".txt", ".jsonl", ".csv", ".srt", ".po", ".xliff", ".html", ".md", ".odt", ".pptx", ".xlsx",
                ".ods", ".docx.gz", ".pdf",
                *sorted(SAMPLES.keys() - {".yml", ".resw", ".ssa", ".arb"}),
            )
        ),
        (".txt", "\n".join(f"Zeile {i} " + "x" * (i * 37 % 2000) for i in range(1000)).encode()),
    ],
)  # fmt: skip
def test_entries_and_the_written_file_are_those_of_the_format_itself(
    tmp_path: Path, suffix: str, content: bytes
) -> None:
    name = f"a{suffix}"

    found, result = _rewritten(_isolated(name), tmp_path, content)

    assert found
    assert (found, result) == _rewritten(open_format(name, OPTIONS), tmp_path, content)


@pytest.mark.parametrize(
    ("limits", "size_bytes", "problem"),
    [
        (FileLimits(memory_bytes=2**27), 2**28, "limit of 128 MiB of memory"),
        (FileLimits(cpu_s=1), 0, "limit of 1 s of CPU time"),
        (FileLimits(timeout_s=0.001), 0, "made no progress for 0 s"),
        (FileLimits(cpu_s=1, timeout_s=0.2, waits_per_cpu_s=-0.19), 0, "limit of 0 s for a file"),
    ],
    ids=["memory", "CPU time", "time without an entry", "all waits together, as a process may sleep"],
)
def test_a_file_that_costs_too_much_is_rejected_with_the_limit_named(
    tmp_path: Path, limits: FileLimits, size_bytes: int, problem: str
) -> None:
    with saved(tmp_path, b"<b>x</b> " * (0 if size_bytes else 1_000_000)) as source:
        os.truncate(tmp_path / "file", size_bytes or (tmp_path / "file").stat().st_size)
        with pytest.raises(FileLimitError, match=problem):
            list(_isolated("a.html", limits).read(source))


@pytest.mark.parametrize("slice_cpu_s", [COSTLY_CPU_S, 1.0])
def test_only_the_reader_of_a_costly_file_ends_with_its_slice(tmp_path: Path, slice_cpu_s: float) -> None:
    reading = _isolated("a.html", FileLimits(slice_cpu_s=slice_cpu_s))
    with saved(tmp_path, b"<b>x</b> " * 1_000_000) as source, pytest.raises(ReaderSliceOverError):
        list(reading.read(source))
    with saved(tmp_path, b"<b>x</b>") as source:
        assert reading.count(source) == (1, 1)


def test_repeated_text_has_the_limit_of_a_plain_file(tmp_path: Path) -> None:
    reading = _isolated("a.txt", FileLimits(max_bytes=300))
    with saved(tmp_path, b"xy\n" * 100) as source:
        assert reading.count(source) == (100, 200)
    with (
        saved(tmp_path, b"xy\n" * 101) as source,
        pytest.raises(FileFormatError, match="more than 300 texts"),
    ):
        reading.count(source)


def test_a_reader_writes_no_larger_file_than_its_limit() -> None:
    program = (
        "import tempfile\nfrom service.formats.limits import apply_limits\n"
        "apply_limits(2**30, 60.0, 1000)\n"
        "with tempfile.TemporaryFile(buffering=0) as file:\n    print(file.write(bytes(2000)))\n"
        "    file.write(b'x')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout == "1000\n"
    assert done.stderr.rstrip().endswith("File too large")


def test_time_that_the_reader_takes_between_entries_does_not_count(tmp_path: Path) -> None:
    with saved(tmp_path, LONG) as source:
        found = _isolated("a.txt", FileLimits(timeout_s=20.0)).read(source)
        next(found)
        assert sum(1 for _ in found) == 199_999


def test_the_process_that_reads_loads_parsers_and_no_engine() -> None:
    """Subtitles are not among them: their sentences are split as the engine splits them."""
    suffixes = sorted(FILES.keys() - {".srt", ".vtt", ".ass", ".ssa"})
    program = (
        "import sys, service.formats.isolated_reader as reader\n"
        "from service.formats.entries import FileOptions\n"
        f"for suffix in {suffixes}:\n"
        "    reader.open_format('a' + suffix, FileOptions('de', 'en'))\n"
        "print([name for name in ('dragoman', 'onnxruntime', 'service.settings') if name in sys.modules])\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_larger_files_may_take_more_cpu_time() -> None:
    limits = FileLimits(cpu_s=10)

    assert [limits.cpu_s_of(size) for size in (0, 2**24 - 1, 2**24, 2**27)] == [10, 10, 20, 90]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.srt", b"no subtitles\n", "line 1: a cue with a timing"),
        (
            "a.xliff",
            FILES[".xliff"][0].replace(b'id="1"', b'id="%b"' % (b"x" * 2000), 1),
            r"has 2,005 characters, more than 1,000",
        ),
    ],
    ids=["of the format", "of a place that would fill the memory of whoever reads"],
)
def test_problems_of_the_file_come_as_they_are(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    with saved(tmp_path, content) as source:
        with pytest.raises(FileFormatError, match=problem):
            list(_isolated(name).read(source))
        with pytest.raises(FileFormatError, match=problem):
            _isolated(name).count(source)


def test_a_bug_of_a_parser_is_distinguished_from_a_problem_of_the_file(tmp_path: Path) -> None:
    with (
        saved(tmp_path, b"x\n") as source,
        (tmp_path / "target").open("wb") as target,
        pytest.raises(ReaderError, match="fewer texts than entries"),
    ):
        _isolated("a.txt").write(source, iter(()), target)


def _children() -> set[int]:
    """Processes that this one started and that have not ended."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(process) for process in found}


@contextmanager
def _begun(folder: Path, content: bytes = LONG) -> Iterator[tuple[Iterator[Entry], int]]:
    """Entries that have begun to come, and the process that reads them."""
    others = _children()
    with saved(folder, content) as source:
        found = _isolated("a.txt").read(source)
        next(found)
        [reader] = _children() - others
        yield found, reader
    assert _children() == others


def test_a_reader_gives_way_to_its_parent_and_has_no_terminal_signals(tmp_path: Path) -> None:
    """Linux gives each session an equal share of the CPUs, whatever the niceness of its processes."""
    with _begun(tmp_path) as (found, reader):
        assert os.getpriority(os.PRIO_PROCESS, reader) > os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getsid(reader) == os.getsid(0)
        assert os.getpgid(reader) != os.getpgid(0)
        found.close()  # type: ignore[attr-defined]


def test_a_reader_of_a_costly_file_gives_way_to_those_of_other_files(tmp_path: Path) -> None:
    with _begun(tmp_path, b"x\n" * 5_000_000) as (found, reader):
        costly = min(19, os.getpriority(os.PRIO_PROCESS, 0) + COSTLY_NICENESS)
        assert any(os.getpriority(os.PRIO_PROCESS, reader) == costly for _ in found)
        found.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("number", "error", "problem"),
    [(signal.SIGHUP, ReaderStoppedError, "SIGHUP"), (signal.SIGKILL, FileFormatError, "stopped by SIGKILL")],
)
def test_a_reader_that_is_killed_is_a_problem_of_the_file_and_one_that_is_stopped_is_not(
    tmp_path: Path, number: signal.Signals, error: type[Exception], problem: str
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and all that it starts does so
    try:
        with _begun(tmp_path) as (found, reader):
            os.kill(reader, number)
            with pytest.raises(error, match=problem):
                list(found)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_files_are_read_on_several_threads_at_a_time(tmp_path: Path) -> None:
    def read(_: int) -> int:
        with path.open("rb") as source:
            return sum(1 for _ in _isolated("a.txt").read(source))

    path = tmp_path / "file"
    with saved(tmp_path, b"x\n" * 1000), ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(4))) == [1000] * 4


def test_entries_are_counted_in_the_other_process(tmp_path: Path) -> None:
    with saved(tmp_path, LONG) as source:
        assert _isolated("a.txt").count(source) == (200_000, 200_000)


@pytest.mark.parametrize("call", ["read", "count"])
def test_a_call_that_waits_for_its_process_ends_when_it_is_to_stop(tmp_path: Path, call: str) -> None:
    stop = Event()
    isolated = _isolated("a.html", stop=stop)
    run = isolated.count if call == "count" else lambda source: list(isolated.read(source))
    with saved(tmp_path, b"<b>x</b> " * 1_000_000) as source:
        Timer(0.1, stop.set).start()
        with pytest.raises(ReaderStoppedError):
            run(source)


def test_records_are_those_that_this_process_reads(tmp_path: Path) -> None:
    languages = ("de", "en")
    with saved(tmp_path, FILES[".tmx"][0]) as source:
        expected = list(RecordReader().read(RecordKind.TMX, source, languages))
        assert expected
        assert list(RecordReader(ROOMY).read(RecordKind.TMX, source, languages)) == expected


def test_a_record_that_the_parent_cannot_hold_is_rejected(tmp_path: Path) -> None:
    with (
        saved(tmp_path, ("a," * 600_000).encode()) as source,
        pytest.raises(FileFormatError, match="characters, more than 1,000,000; split it"),
    ):
        list(RecordReader(ROOMY).read(RecordKind.CSV, source, ("de", "en")))


def test_unflushed_content_of_a_file_is_read_too(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as source:
        source.write(b"Hund,dog\n")
        found = list(RecordReader(ROOMY).read(RecordKind.CSV, source, ("de", "en")))
    assert found == [[1, ["Hund", "dog"]]]
