"""Files of others are read in processes of their own: what one of them costs hurts nobody else."""

import gzip
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from service.formats.entries import FileFormat, FileFormatError
from service.formats.isolation import IsolatedFormat, ReaderError, ReaderStoppedError
from service.formats.known import open_format
from service.formats.limits import FileLimitError, FileLimits
from tests.formats.rewriting import OPTIONS, shouted

ROOMY = FileLimits()
PO = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\nmsgid "Baum %d"\nmsgstr ""\n'
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1">'
    "<source>Ein <g>Baum</g></source></trans-unit></body></file></xliff>"
)
FILES = {
    "a.txt": "Eins\n\nZwei ohne Ende",
    "a.jsonl": '{"text": "ein \\ud83d\\ude00"}\n',
    "a.csv": "text,id\nBaum,1\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>Ein</i> Baum\n",
    "a.po": PO,
    "a.xliff": XLIFF,
    "a.html": "<p>Ein <b>Baum</b></p>",
    "a.md": "# Ein *Baum*\n",
}


def _odt() -> bytes:
    target = io.BytesIO()
    text = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", f"<o {text}><text:p>Ein <text:span>Baum</text:span></text:p></o>")
        archive.writestr("picture", bytes(10_000))
    return target.getvalue()


CONTENTS = {name: text.encode() for name, text in FILES.items()} | {
    "a.odt": _odt(),
    "a.odt.gz": gzip.compress(_odt()),
}


def _isolated(name: str, limits: FileLimits = ROOMY) -> FileFormat:
    return open_format(name, OPTIONS, limits)


def _saved(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _rewritten(file_format: FileFormat, path: Path) -> bytes:
    """With texts in capitals."""
    with path.open("rb") as source:
        texts = [shouted(entry) for entry in file_format.read(source)]
    target = path.with_name("target")
    with path.open("rb") as source, target.open("wb") as written:
        file_format.write(source, iter(texts), written)
    return target.read_bytes()


@pytest.mark.parametrize("name", CONTENTS)
def test_entries_and_the_written_file_are_those_of_the_format_itself(tmp_path: Path, name: str) -> None:
    path = _saved(tmp_path, name, CONTENTS[name])
    isolated, direct = _isolated(name), open_format(name, OPTIONS)

    with path.open("rb") as one, path.open("rb") as other:
        found = list(isolated.read(one))
        assert found == list(direct.read(other))
    assert found
    assert _rewritten(isolated, path) == _rewritten(direct, path)


def test_many_entries_and_texts_pass_in_their_order(tmp_path: Path) -> None:
    lines = [f"Zeile {i} " + "x" * (i * 37 % 2000) for i in range(1000)]
    path = _saved(tmp_path, "a.txt", "\n".join(lines).encode())

    assert _rewritten(_isolated("a.txt"), path).decode() == "\n".join(lines).upper()


def test_a_file_that_takes_too_much_memory_is_refused_with_the_limit_named(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.html", b"")
    os.truncate(path, 2**28)

    with path.open("rb") as source, pytest.raises(FileLimitError, match="limit of 128 MiB of memory"):
        list(_isolated("a.html", FileLimits(memory_bytes=2**27)).read(source))


def test_a_file_that_takes_too_much_cpu_time_is_refused_with_the_limit_named(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.html", b"<b>x</b> " * 1_000_000)

    with path.open("rb") as source, pytest.raises(FileLimitError, match="limit of 1 s of CPU time"):
        list(_isolated("a.html", FileLimits(cpu_s=1)).read(source))


def test_a_file_in_which_nothing_is_found_for_long_is_refused_with_the_limit_named(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.html", b"<b>x</b> " * 1_000_000)

    with path.open("rb") as source, pytest.raises(FileLimitError, match="made no progress for 0 s"):
        list(_isolated("a.html", FileLimits(timeout_s=0.001)).read(source))


def test_time_that_whoever_reads_takes_between_entries_does_not_count(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n" * 200_000)
    limits = FileLimits(timeout_s=20.0)

    with path.open("rb") as source:
        found = _isolated("a.txt", limits).read(source)
        next(found)
        assert sum(1 for _ in found) == 199_999


def test_larger_files_may_take_more_cpu_time() -> None:
    limits = FileLimits(cpu_s=10)

    assert [limits.cpu_s_of(size) for size in (0, 2**24 - 1, 2**24, 2**27)] == [10, 10, 20, 90]


def test_problems_of_the_format_come_as_they_are(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.srt", b"no subtitles\n")

    with path.open("rb") as source, pytest.raises(FileFormatError, match="line 1: a cue with a timing"):
        list(_isolated("a.srt").read(source))


def test_entries_that_would_fill_the_memory_of_whoever_reads_are_refused(tmp_path: Path) -> None:
    name = "x" * 2000
    path = _saved(tmp_path, "a.xliff", XLIFF.replace('id="1"', f'id="{name}"').encode())

    with (
        path.open("rb") as source,
        pytest.raises(FileFormatError, match=r"has 2,005 characters, more than 1,000"),
    ):
        list(_isolated("a.xliff").read(source))


def test_a_bug_of_a_parser_is_told_apart_from_a_problem_of_the_file(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n")
    written = tmp_path / "target"

    with (
        path.open("rb") as source,
        written.open("wb") as target,
        pytest.raises(ReaderError, match="fewer texts than entries"),
    ):
        _isolated("a.txt").write(source, iter(()), target)


def test_what_is_broken_off_leaves_no_process(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n" * 200_000)

    others = _children()
    with path.open("rb") as source:
        found = _isolated("a.txt").read(source)
        next(found)
        readers = _children() - others
        assert isinstance(found, Iterator)
        found.close()  # type: ignore[attr-defined]

    assert len(readers) == 1
    assert _children() == others


def test_a_reader_that_is_told_to_end_is_not_the_fault_of_the_file(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n" * 500_000)

    others = _children()
    with path.open("rb") as source:
        found = _isolated("a.txt").read(source)
        next(found)
        [reader] = _children() - others
        os.kill(reader, signal.SIGHUP)
        with pytest.raises(ReaderStoppedError, match="SIGHUP"):
            list(found)


def test_a_reader_that_is_killed_is_a_problem_of_the_file(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n" * 500_000)

    others = _children()
    with path.open("rb") as source:
        found = _isolated("a.txt").read(source)
        next(found)
        [reader] = _children() - others
        os.kill(reader, signal.SIGKILL)
        with pytest.raises(FileFormatError, match="stopped by SIGKILL"):
            list(found)


def test_files_are_read_on_several_threads_at_a_time(tmp_path: Path) -> None:
    path = _saved(tmp_path, "a.txt", b"x\n" * 1000)
    counts: list[int] = []

    def read() -> None:
        with path.open("rb") as source:
            counts.append(sum(1 for _ in _isolated("a.txt").read(source)))

    threads = [Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [1000] * 4


def test_the_reader_has_neither_the_engine_nor_the_environment() -> None:
    code = "import sys, service.formats.isolated_reader; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"dragoman", "numpy", "onnxruntime", "fastapi", "pydantic", "sqlalchemy"})


def test_opening_without_limits_reads_in_this_process() -> None:
    assert not isinstance(open_format("a.txt", OPTIONS), IsolatedFormat)


def _children() -> set[int]:
    """Processes that this one started and that have not ended."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(process) for process in found}
