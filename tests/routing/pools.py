"""What tests of the shelf share."""

import time
from collections.abc import Callable, Mapping

from dragoman.bundle import Bundle, read_bundle
from dragoman.manifest import Manifest
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from tests.routing.doubles import TIMEOUT_S, DoubleTranslator, until, write_bundle

SIZES = {"a": 10, "b": 10, "c": 10, "big": 25}
"""What bundles of these names are reckoned to take."""

MakePool = Callable[..., BundlePool[DoubleTranslator]]


def size_of(manifest: Manifest) -> int:
    return SIZES[manifest.name]


def get(pool: BundlePool[DoubleTranslator], name: str) -> BundleHandle[DoubleTranslator]:
    return pool.acquire(name).result(TIMEOUT_S)


def use(pool: BundlePool[DoubleTranslator], name: str) -> DoubleTranslator:
    with get(pool, name) as double:
        return double


def in_seconds(seconds: float) -> float:
    return time.monotonic() + seconds


def until_leaving(pool: BundlePool[DoubleTranslator], name: str) -> None:
    """Wait until an open bundle takes no new users."""

    def takes_none() -> bool:
        asked = pool.acquire(name)
        if asked.done():
            asked.result().release()
        return asked.cancel()

    until(takes_none)


def rewritten(stocked: Mapping[str, Bundle], name: str) -> Bundle:
    """Another bundle of the same name."""
    folder = stocked[name].path.parent / "new" / name
    return read_bundle(write_bundle(folder, name, filler="new"))
