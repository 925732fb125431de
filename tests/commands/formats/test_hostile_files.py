"""Files that are made to cost their readers more than their size end their own process, and no other."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from bench.hostile.files import LARGE, large_file
from bench.hostile.pdf import PDFS, one_page, stream, text_at
from service.formats.entries import FileFormatError, FileOptions, TargetText
from service.formats.limits import FileLimitError, FileLimits
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from tests.formats.rewriting import OPTIONS, saved

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
