"""Folders of small models, made once; a test that changes files takes a copy."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from export import huggingface
from export.original import ImportRejectedError, Original, RequestedLanguages
from tests.imports.huggingface.make_models import write_marian, write_mbart, write_nllb
from tests.made_once import make_once


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory, "marian", write_marian)


@pytest.fixture(scope="session")
def nllb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory, "nllb", write_nllb)


@pytest.fixture(scope="session")
def mbart_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory, "mbart", write_mbart)


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / folder.name))

    return copy


@pytest.fixture
def folder(marian_folder: Path, copy_of: Callable[[Path], Path]) -> Path:
    """A Marian folder whose files a test may change."""
    return copy_of(marian_folder)


Codes = tuple[str, ...]


def load(folder: Path, sources: Codes = (), targets: Codes = ()) -> Original:
    return huggingface.load(folder, RequestedLanguages(sources, targets))


def problems_of(folder: Path, sources: Codes = (), targets: Codes = ()) -> tuple[str, ...]:
    """Why a folder is rejected."""
    with pytest.raises(ImportRejectedError) as caught:
        load(folder, sources, targets)
    assert caught.value.origin == str(folder)
    return caught.value.problems
