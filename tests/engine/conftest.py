"""The tiny bundles, opened once."""

from pathlib import Path

import pytest

from dragoman import Translator

TINY = Path(__file__).parents[1] / "tiny"


@pytest.fixture(scope="session")
def tiny() -> Translator:
    return Translator.open(TINY / "bundle-fp32")


@pytest.fixture(scope="session")
def tiny_int8() -> Translator:
    return Translator.open(TINY / "bundle-int8")


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """Sentences that the tiny model knows by heart, with their translations."""
    lines = (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]
