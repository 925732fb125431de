"""Folders loaded as an import loads them."""

from pathlib import Path

import pytest

from export import huggingface
from export.original import ImportRejectedError, Original, RequestedLanguages

Codes = tuple[str, ...]


def load(folder: Path, sources: Codes = (), targets: Codes = ()) -> Original:
    return huggingface.load(folder, RequestedLanguages(sources, targets))


def problems_of(folder: Path, sources: Codes = (), targets: Codes = ()) -> tuple[str, ...]:
    """Why a folder is rejected."""
    with pytest.raises(ImportRejectedError) as caught:
        load(folder, sources, targets)
    assert caught.value.origin == str(folder)
    return caught.value.problems
