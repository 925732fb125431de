"""Vocabularies that are read in parts."""

import pytest

from export.graph import projection
from tests.parity.random_bundles import BLOCK_TOKENS, PART_TOKENS


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
