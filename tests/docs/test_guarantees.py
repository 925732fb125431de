"""Pages of guarantees and clients name tests and settings that exist; large folders have a README."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings.settings import Settings
from tests.docs.budgets import code_lines
from tests.docs.clients_page import PAGE, Client, clients, with_table
from tests.paths import ROOT

REFERENCE = ROOT / "docs" / "reference"


def rows_of(name: str) -> list[str]:
    lines = (REFERENCE / name).read_text(encoding="utf8").splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| promise")]


ROWS = rows_of("guarantees.md")
VALUES = {"per_key", "unsupported", "br", "non_splitting_tags", "refused"}
"""Of settings and of requests."""


def test_every_promise_names_a_test_that_exists() -> None:
    for row in (*ROWS, *rows_of("file-guarantees.md")):
        named = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", row)
        assert named, row
        for path, name in named:
            assert f"def {name or 'test_'}" in (ROOT / path).read_text(encoding="utf8"), row


def test_every_setting_that_is_named_is_one() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row.split("|")[2])}

    assert named - VALUES <= Settings.model_fields.keys()


def test_the_page_has_the_table_of_the_list() -> None:
    page = PAGE.read_text(encoding="utf8")
    assert page == with_table(page), "run `python -m tests.docs.clients_page`"


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_each_program_has_tests_that_exist(client: Client) -> None:
    assert client.tests or client.calls
    for test in client.tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / "service" / path).read_text(encoding="utf8")


PACKAGES = ("bench", "dragoman", "export", "service", "training")
LARGE_LINES = 1000
SCREEN_LINES = 16
HEADINGS = ["Purpose", "May import", "One value on its way", "Suite"]
SUITES = frozenset(re.findall(r"test-\w+", (ROOT / "Makefile").read_text(encoding="utf8")))


def lines_of(folder: Path, pattern: str) -> int:
    return sum(len(code_lines(path.read_text(encoding="utf8"))) for path in folder.rglob(pattern))


def large_folders() -> list[str]:
    packages = [ROOT / package for package in PACKAGES]
    folders = [folder for package in packages for folder in package.iterdir() if folder.is_dir()]
    large = [folder for folder in folders if lines_of(folder, "*.py") > LARGE_LINES]
    return [str(folder.relative_to(ROOT)) for folder in [*packages, *sorted(large)]]


def test_a_large_folder_says_on_one_screen_what_it_is_for_and_how_to_test_it() -> None:
    assert {name: found for name in large_folders() if (found := list(_wrong(ROOT / name)))} == {}


def _wrong(folder: Path) -> Iterator[object]:
    """Yield what is wrong with the README of a folder."""
    text = (folder / "README.md").read_text(encoding="utf8")
    if len(text.splitlines()) > SCREEN_LINES:
        yield "too long"
    headings = re.findall(r"^\*\*(.*?)\.\*\*", text, re.MULTILINE)
    if headings != HEADINGS:
        yield headings
    suites = re.findall(r"`make (test-\w+)`", text)
    if not suites or not SUITES.issuperset(suites):
        yield suites
    parents = (folder, ROOT / folder.relative_to(ROOT).parts[0], ROOT)
    named = re.findall(r"`([\w/]+(?:\.py|/))`", text)
    yield from (path for path in named if not any((parent / path).exists() for parent in parents))
