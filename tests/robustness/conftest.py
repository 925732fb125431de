"""The tiny bundle, opened once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Translator


@pytest.fixture(scope="module")
def tiny() -> Iterator[Translator]:
    with Translator.open(Path(__file__).parents[1] / "tiny" / "bundle-fp32") as translator:
        yield translator
