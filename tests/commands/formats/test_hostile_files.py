"""Files that are made to cost their readers more than their size end their own process, and no other."""

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from service.formats.entries import FileFormatError, FileOptions, TargetText
from service.formats.limits import FileLimitError, FileLimits
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from tests.formats.hostile import HOSTILE
from tests.formats.pdf_samples import deflated, one_page, stream, text_at
from tests.formats.rewriting import OPTIONS, saved

LIMITS = FileLimits(memory_bytes=2**27, cpu_s=20)
TEXT = text_at(70, 700, b"Text")
FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>"
USES_FORM = b"/XObject << /X 6 0 R >>"
LARGE_BYTES = 2**27


def nested_forms(num_levels: int) -> Mapping[int, bytes]:
    """Forms that each show the next one twice."""
    forms = {6 + i: stream(b"/X Do /X Do", FORM % (7 + i)) for i in range(num_levels)}
    return {**forms, 6 + num_levels: stream(TEXT, FORM % 6)}


def pages(kids: bytes, num_pages: int) -> Mapping[int, bytes]:
    """A list of pages in place of the one of the file."""
    return {2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, num_pages)}


def bomb() -> bytes:
    """A page of spaces."""
    return one_page(deflated(b" " * LARGE_BYTES + TEXT))


def double_bomb() -> bytes:
    """The same, compressed twice."""
    packed = zlib.compress(zlib.compress(b" " * LARGE_BYTES, 9), 9)
    return one_page(stream(packed, b"/Filter [/FlateDecode /FlateDecode]"))


MEMORY = "stopped by SIGABRT.*memory limit of 128 MiB|limit of 128 MiB of memory"
NO_TEXT = "it has no text"
REJECTED: Mapping[str, tuple[bytes | Callable[[], bytes], str]] = {
    "a bomb": (bomb, MEMORY),
    "a bomb in a bomb": (double_bomb, MEMORY),
    "many characters": (one_page(deflated(b"BT /F 1 Tf " + b"(%s) Tj " % (b"a" * 30_000) * 70)), MEMORY),
    "forms that multiply": (one_page(stream(b"/X Do"), USES_FORM, nested_forms(30)), MEMORY),
    "a form in itself": (one_page(stream(b"/X Do"), USES_FORM, {6: stream(b"/X Do", FORM % 6)}), NO_TEXT),
    "pages in themselves": (one_page(stream(TEXT), others=pages(b"2 0 R 2 0 R", 2)), "page 1 cannot be read"),
    "many pages": (one_page(stream(TEXT), others=pages(b"3 0 R " * 6000, 6000)), "it has 6,000 pages"),
    "pages that are not there": (
        one_page(stream(TEXT), others=pages(b"3 0 R", 99_999)),
        "it has 99,999 pages",
    ),
}
"""Content and what is said of it."""
READ = {
    "a length that is its own": one_page(b"<< /Length 4 0 R >>\nstream\n" + TEXT + b"\nendstream"),
    "deep arrays": one_page(stream(TEXT), others={6: b"[" * 200_000 + b"]" * 200_000}),
    "many states": one_page(stream(b"q " * 500_000 + TEXT)),
    "forms for a long time": one_page(stream(b"/X Do " + TEXT), USES_FORM, nested_forms(12)),
    "numbers that are too large": one_page(stream(b"BT /F 1e38 Tf 1e38 1e38 Td (x) Tj ET\n" + TEXT)),
}


def test_the_format_of_the_output_reaches_the_other_process(tmp_path: Path) -> None:
    options = FileOptions("de", "en", output=".txt")
    with saved(tmp_path, one_page(stream(TEXT))) as source, (tmp_path / "out").open("wb") as target:
        open_format("a.pdf", options, LIMITS).write(source, iter([TargetText(MarkedText("Wort"))]), target)

    assert (tmp_path / "out").read_bytes() == b"Wort\n"


def read(content: bytes, folder: Path) -> list[str]:
    """Texts of a file that is read in another process."""
    with saved(folder, content) as source:
        return [entry.text for entry in open_format("a.pdf", OPTIONS, LIMITS).read(source)]


@pytest.mark.parametrize("title", REJECTED)
def test_a_file_over_a_limit_is_rejected(title: str, tmp_path: Path) -> None:
    made, problem = REJECTED[title]
    content = made if isinstance(made, bytes) else made()

    with pytest.raises(FileFormatError, match=problem):
        read(content, tmp_path)


@pytest.mark.parametrize("title", READ)
def test_a_strange_file_within_the_limits_is_read(title: str, tmp_path: Path) -> None:
    assert "Text" in read(READ[title], tmp_path)


LONG = {
    20_000: (
        "a.docx of runs",
        "a.xliff of default attributes",
        "a.md of runs of '[^'",
        "a.md of runs of '<!--'",
    ),
    200_000: (
        "a.xliff of a long namespace",
        "a.xliff of roots in a comment",
        "a.xliff of states",
        "a.po of placeholders",
    ),
    400_000: (
        "a.po of continuations",
        "a.po of comments",
        "a.po of obsolete continuations",
        "a.po of a long header",
    ),
    20_000_000: ("a.xliff of a long comment",),
}
"""Work of libraries in C is in no count of calls: of these files it would take hours, were it quadratic."""


@pytest.mark.parametrize(("n", "title"), [(n, title) for n, titles in LONG.items() for title in titles])
def test_long_files_are_read_or_rejected_within_the_limit_of_cpu_time(
    n: int, title: str, tmp_path: Path
) -> None:
    [hostile] = [each for each in HOSTILE if str(each) == title]
    with saved(tmp_path, hostile.make(n)) as source, suppress(FileFormatError):
        try:
            for _ in open_format(hostile.name, OPTIONS, FileLimits(cpu_s=10)).read(source):
                pass
        except FileLimitError as error:
            raise AssertionError("it took too long") from error
