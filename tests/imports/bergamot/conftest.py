"""Students that several tests read; none of them changes their files."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.imports.bergamot.students import KINDS, Student, make_student


@pytest.fixture(scope="session")
def students(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Student]:
    """Students by the name of their kind."""
    folder = tmp_path_factory.mktemp("students")
    return {name: make_student(folder / name, kind) for name, kind in KINDS.items()}


@pytest.fixture
def student(students: dict[str, Student], tmp_path: Path) -> Student:
    """A student whose files a test may change."""
    shared = students["shared"]
    return replace(shared, folder=shutil.copytree(shared.folder, tmp_path / "de-en"))
