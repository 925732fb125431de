"""The tiny bundle, opened once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Router


@pytest.fixture(scope="module")
def tiny() -> Iterator[Router]:
    with Router.open({"tiny": Path(__file__).parents[1] / "tiny" / "bundle-fp32"}) as router:
        yield router
