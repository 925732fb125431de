"""Each large folder of the code has a README of one screen."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.budgets import code_lines
from tests.paths import ROOT

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
