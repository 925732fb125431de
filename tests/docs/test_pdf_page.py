"""The page about PDF shows what the bundled models make of a file."""

import re
import subprocess
import sys
from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

from service.formats.pdf_pages import MAX_CHARACTERS, MAX_PAGES
from tests.docs.shell_examples import ROOT
from tests.formats.pdf_samples import PAGE_POINTS

PAGE = (ROOT / "docs" / "reference" / "pdf.md").read_text(encoding="utf8")
EXAMPLE = re.compile(
    r"\$ pdftotext -layout (\S+) -\n(.*?)\$ dragoman (batch [^\n]*)\n\$ cat (\S+)\n(.*?)```", re.DOTALL
)
TITLE_POINTS, BODY_POINTS, LEADING, CELL_POINTS = 18, 11, 14, 150
TIMEOUT_S = 120


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
