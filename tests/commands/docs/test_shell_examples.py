"""What the README, tutorials and pages about formats show is what happens: commands are run and compared."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from service.formats.pdf_pages import MAX_CHARACTERS, MAX_PAGES
from service.formats.registry import SUFFIXES, open_format
from tests.commands.docs.shell_examples import (
    FILE_NAME,
    OMISSION,
    SERVE,
    SERVER_ON_PAGES,
    Page,
    assert_prints,
    blocks,
    command_and_output,
)
from tests.formats.fuzz.seeds import FILES
from tests.formats.pdf_samples import PAGE_POINTS
from tests.formats.rewriting import OPTIONS, entries
from tests.paths import ROOT

README = ROOT / "README.md"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [README, *TUTORIALS]
SERVES = re.compile(r"(make|\.venv/bin/dragoman) serve\b[^\n]*\n")
MIN_WORDS, MAX_WORDS = 300, 800
CLIENTS = [body for kind, body in blocks(README) if kind == "python" and SERVER_ON_PAGES in body]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server with the bundled models, for all pages that add none to them."""
    with Page(tmp_path_factory.mktemp("served")).server(SERVE) as address:
        yield address


def ids(page: Path) -> str:
    return page.stem


def test_the_readme_names_every_tutorial() -> None:
    readme = README.read_text(encoding="utf8")
    assert [page.name for page in TUTORIALS if f"(docs/tutorials/{page.name})" not in readme] == []


@pytest.mark.parametrize("page", TUTORIALS, ids=ids)
def test_a_tutorial_is_short(page: Path) -> None:
    assert MIN_WORDS <= len(page.read_text(encoding="utf8").split()) <= MAX_WORDS


@pytest.mark.parametrize("page", TUTORIALS, ids=ids)
def test_every_example_of_a_tutorial_is_run(page: Path) -> None:
    content = page.read_text(encoding="utf8")
    not_run = [
        body
        for kind, body in blocks(page)
        if not (
            (kind == "console" and body.startswith("$ "))
            or (kind == "sh" and SERVES.fullmatch(body))
            or FILE_NAME.match(body)
        )
    ]

    assert not_run == []
    assert content.count("```") == 2 * len(blocks(page))
    assert not re.search(r"^ {4}", re.sub(r"```.*?```", "", content, flags=re.DOTALL), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, server: str, tmp_path: Path) -> None:
    examples = Page(tmp_path)
    with ExitStack() as servers:
        for kind, body in blocks(page):
            if kind == "console":
                command, shown = command_and_output(body)
                assert_prints(examples.run(command, shown), shown)
            elif body.strip() == SERVE and not examples.has_own_models:
                examples.use_server(server)
            elif kind == "sh" and SERVES.fullmatch(body):
                servers.enter_context(examples.server(body.strip()))
            elif name := FILE_NAME.match(body):
                examples.save(name[1], body)


def test_there_are_clients_in_the_readme() -> None:
    assert len(CLIENTS) == 2
    assert all(len(list(filter(None, client.splitlines()))) == 3 for client in CLIENTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_readmes_clients_print_what_it_says(client: str, server: str) -> None:
    (expected,) = re.findall(r"#\s*(.*)$", client.strip())
    code = client.replace(SERVER_ON_PAGES, server)

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == expected


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
