"""Bundles of random models, and vocabularies that are read in parts."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.graph import projection
from export.reference import ReferenceGraphs
from tests.imports.parity.random_bundles import BLOCK_TOKENS, PART_TOKENS, random_model, write
from tests.made_once import make_once

Export = Callable[[dict[str, Any], str], Path]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Exports a random model of some shape and precision, once with the same parts and calibration."""

    def export(shape: dict[str, Any], precision: str) -> Path:
        parts = projection.MAX_PART_TOKENS, projection.BLOCK_TOKENS
        key = (str(shape), precision, *parts, ReferenceGraphs.greedy.__name__)
        name = hashlib.sha256(repr(key).encode()).hexdigest()
        return make_once(tmp_path_factory, name, lambda folder: write(folder, random_model(shape), precision))

    return export


@pytest.fixture
def split(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts, or those that a module names as `PARTS`, and rows that are many from two on."""
    part_tokens, block_tokens = getattr(request.module, "PARTS", (PART_TOKENS, BLOCK_TOKENS))
    monkeypatch.setattr(projection, "MAX_PART_TOKENS", part_tokens)
    monkeypatch.setattr(projection, "BLOCK_TOKENS", block_tokens)
    monkeypatch.setattr(projection, "MIN_BLOCK_ROWS", 2)


@pytest.fixture(params=["whole", "in parts"])
def in_parts(request: pytest.FixtureRequest) -> None:
    """Whether the vocabulary is read in parts."""
    if request.param == "in parts":
        request.getfixturevalue("split")
