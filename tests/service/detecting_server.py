"""Servers over a few models that a conftest names as `models`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import QUICK_FILES, ready_client, router_over

Serve = Callable[..., httpx.Client]


def write_models(folder: Path, *targets: str) -> Path:
    """Write `a`: de -> en, `b`: en -> fr, `c`: en into these languages; return the folder."""
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], targets)
    return folder


@pytest.fixture(scope="module")
def http(models: Path) -> Iterator[httpx.Client]:
    """A client of a server that detects languages and requires no key, which a module's tests share."""
    with (
        router_over(models, DoubleBundles()) as router,
        ready_client(router, detection="on", **QUICK_FILES) as shared,
    ):
        yield shared


@pytest.fixture
def serve(models: Path) -> Iterator[Serve]:
    """Start another server over the same models with these settings."""
    with ExitStack() as running:

        def start(**settings: object) -> httpx.Client:
            router = running.enter_context(router_over(models, DoubleBundles()))
            return running.enter_context(ready_client(router, **{**QUICK_FILES, **settings}))

        yield start
