"""Pages about file formats name every format, and show what the bundled models write."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from service.formats.pdf_pages import MAX_CHARACTERS, MAX_PAGES
from service.formats.registry import SUFFIXES, open_format
from tests.commands.docs.shell_examples import OMISSION, blocks
from tests.formats.fuzz.seeds import FILES
from tests.formats.pdf_samples import PAGE_POINTS
from tests.formats.rewriting import OPTIONS, entries
from tests.paths import ROOT

REFERENCE = ROOT / "docs" / "reference"
TABLE_PAGE = REFERENCE / "file-formats.md"
COLUMNS = "format | read | write | inline marks | placeholders | plurals | review state | limits"
SUFFIX = re.compile(r"`(\.[a-z]+)`")
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
BATCH = re.compile(r"dragoman batch (\S+) -o (\S+)(?: --column (\S+))? --source de --target en")
TIMEOUT_S = 120


def _rows() -> Mapping[str, list[str]]:
    """The first row of each suffix in the table of all formats: `.json` has one for each kind."""
    page = TABLE_PAGE.read_text(encoding="utf8")
    _, _, rows = page.partition(f"| {COLUMNS} |\n")
    rows = rows.partition("\n\n")[0]
    found: dict[str, list[str]] = {}
    for row in rows.splitlines()[1:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for suffix in SUFFIX.findall(cells[0]):
            found.setdefault(suffix, cells)
    return found


ROWS = _rows()


def test_every_format_has_a_row_of_all_columns_in_the_one_table() -> None:
    assert sorted(ROWS) == sorted(SUFFIXES)
    assert {len(row) for row in ROWS.values()} == {len(COLUMNS.split(" | "))}
    pages = sorted(
        path.name for path in REFERENCE.glob("*.md") if "| placeholders |" in path.read_text("utf8")
    )
    assert pages == [TABLE_PAGE.name]


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix in FILES])
def test_placeholders_are_checked_where_the_table_says_so(suffix: str) -> None:
    found = entries(open_format(f"a{suffix}", OPTIONS), FILES[suffix][0])

    assert any(entry.is_message for entry in found) == ROWS[suffix][4].startswith("checked")


@dataclass(frozen=True, slots=True)
class _Example:
    """A file that a page shows before and after."""

    name: str
    content: str
    column: str
    shown_by: str
    """The command that shows the translated file."""
    shown: str


def _examples(page: str) -> Iterator[_Example]:
    """Yield the examples of a page that show the whole of a file of text."""
    for kind, body in blocks(REFERENCE / page):
        commands = COMMAND.split(body)[1:] if kind == "console" else []
        if len(commands) != 6:
            continue
        first, content, batch, _, last, shown = commands
        called = BATCH.fullmatch(batch)
        is_whole = first == f"cat {called[1] if called else ''}" and OMISSION not in content.splitlines()
        if called is not None and is_whole and last.endswith(f" {called[2]}"):
            yield _Example(called[1], content, called[3] or "", last.removesuffix(f" {called[2]}"), shown)


EXAMPLES = [example for page in ("text-formats.md", "string-formats.md") for example in _examples(page)]


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the translated files of all examples."""
    folder = tmp_path_factory.mktemp("examples")
    for column in sorted({example.column for example in EXAMPLES}):
        source = folder / f"in{column}"
        source.mkdir()
        for example in EXAMPLES:
            if example.column == column:
                (source / example.name).write_text(example.content, encoding="utf8")
        command = [
            str(Path(sys.executable).parent / "dragoman"),
            "batch",
            str(source),
            "-o",
            str(folder / "out"),
        ]
        options = ["--source", "de", "--target", "en", *(["--column", column] if column else [])]
        subprocess.run([*command, *options], cwd=folder, check=True, timeout=TIMEOUT_S, capture_output=True)
    return folder / "out"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.name))
def test_an_example_shows_what_the_bundled_models_write(example: _Example, translated: Path) -> None:
    command = [*example.shown_by.split(), str(translated / example.name)]

    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == example.shown


def test_most_formats_of_text_have_such_an_example() -> None:
    assert {Path(example.name).suffix for example in EXAMPLES} >= {
        *(".csv", ".jsonl", ".srt", ".md", ".json", ".arb", ".yml", ".properties", ".strings")
    }


PAGE = (ROOT / "docs" / "reference" / "document-formats.md").read_text(encoding="utf8")
EXAMPLE = re.compile(
    r"\$ pdftotext -layout (\S+) -\n(.*?)\$ dragoman (batch [^\n]*)\n\$ cat (\S+)\n(.*?)```", re.DOTALL
)
TITLE_POINTS, BODY_POINTS, LEADING, CELL_POINTS = 18, 11, 14, 150


def draw(path: Path, lines: list[str]) -> None:
    """Write a PDF with a title and lines below it; spaces separate cells."""
    canvas = Canvas(str(path), PAGE_POINTS)
    for i, line in enumerate(lines):
        canvas.setFont("Helvetica", BODY_POINTS if i else TITLE_POINTS)
        for j, cell in enumerate(re.split(" {3,}", line)):
            canvas.drawString(70 + j * CELL_POINTS, 780 - i * LEADING, cell)
    canvas.save()


def test_the_example_shows_what_the_bundled_models_write(tmp_path: Path) -> None:
    example = EXAMPLE.search(PAGE)
    assert example is not None
    draw(tmp_path / example[1], example[2].splitlines())

    command = [str(Path(sys.executable).parent / "dragoman"), *example[3].split()]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=TIMEOUT_S, capture_output=True)

    assert (tmp_path / example[4]).read_text(encoding="utf8") == example[5]


def test_the_page_names_the_limits() -> None:
    assert f"more than {MAX_PAGES:,} pages or {MAX_CHARACTERS:,} characters" in PAGE
