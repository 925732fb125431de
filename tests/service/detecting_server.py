"""Servers over a few models that a conftest names as `models`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.engine.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import models_client

Serve = Callable[..., httpx.Client]


def write_models(folder: Path, *targets: str) -> Path:
    """Write `a`: de -> en, `b`: en -> fr, `c`: en into these languages; return the folder."""
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], targets)
    return folder


@pytest.fixture(scope="module")
def bundles() -> DoubleBundles:
    """Doubles that put their names behind what they translate."""
    return DoubleBundles()


@pytest.fixture(scope="module")
def http(models: Path, bundles: DoubleBundles) -> Iterator[httpx.Client]:
    """A client of a server that detects languages and requires no key, which a module's tests share."""
    with models_client(models, bundles, detection="on") as shared:
        yield shared


@pytest.fixture
def serve(models: Path) -> Iterator[Serve]:
    """Start another server over the same models with these settings."""
    with ExitStack() as running:
        yield lambda **settings: running.enter_context(models_client(models, **settings))
