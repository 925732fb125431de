"""The estimated memory of bundles, compared with measured memory."""

from dataclasses import replace

import pytest

from dragoman.bundle import read_bundle
from dragoman.contract import CacheDType
from dragoman.manifest import FileRecord, Manifest, Sizes
from dragoman.routing.memory import estimated_bytes, size_bytes
from tests.routing.doubles import write_bundle

SMALL, OPUS = Sizes(2, 8, 32, 8000, 8000), Sizes(6, 8, 64, 32000, 32000)
WIDE, DEEP = Sizes(1, 16, 64, 8000, 8000), Sizes(6, 8, 32, 8000, 8000)
MANY_PIECES, FEW_PIECES = Sizes(2, 8, 64, 64000, 64000), Sizes(2, 8, 64, 8000, 8000)


@pytest.fixture
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("models") / "a", "a")).manifest


def of_size(
    manifest: Manifest, files_mb: float, precision: str, cache_dtype: CacheDType, sizes: Sizes
) -> Manifest:
    files = {"all": FileRecord("", round(files_mb * 1e6))}
    return replace(manifest, files=files, precision=precision, cache_dtype=cache_dtype, sizes=sizes)


@pytest.mark.parametrize(
    ("files_mb", "precision", "cache_dtype", "sizes", "measured_mb"),
    [  # by replicas: the growth of the process after opening and full load, on the CPU
        (12.6, "int8", "int8", SMALL, {1: 96, 2: 169, 4: 300}),
        (45.0, "fp32", "float32", SMALL, {1: 206, 2: 351, 4: 596}),
        (81.3, "int8", "int8", OPUS, {1: 437, 2: 710, 4: 1273}),
        (310.5, "fp32", "float32", OPUS, {1: 1052, 2: 1567, 4: 2773}),
        (50.5, "int8", "int8", WIDE, {1: 220}),
        (16.8, "int8", "int8", DEEP, {1: 187}),
        (85.4, "int8", "int8", MANY_PIECES, {1: 317}),
        (25.5, "int8", "int8", FEW_PIECES, {1: 156}),
    ],
)
def test_the_memory_estimate_is_at_least_the_measured_memory(
    manifest: Manifest,
    files_mb: float,
    precision: str,
    cache_dtype: CacheDType,
    sizes: Sizes,
    measured_mb: dict[int, int],
) -> None:
    described = of_size(manifest, files_mb, precision, cache_dtype, sizes)

    for replicas, measured in measured_mb.items():
        assert 0.93 <= estimated_bytes(described, replicas) / 1e6 / measured <= 1.25


def test_the_size_is_that_of_all_files(manifest: Manifest) -> None:
    assert size_bytes(manifest) == 1000 * len("encoder.onnxdecoder.onnxsource.modeltarget.model")
