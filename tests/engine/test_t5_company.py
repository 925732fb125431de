"""Bundles with relative positions go through every search, and give each source the same in any company."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from dragoman.manifest import ModelLimits
from dragoman.native.instructions import NotSupported
from dragoman.native.library import library
from dragoman.native.model import read_programs
from export import huggingface
from export.bundle import BundleMetadata, ExportError, write_bundle
from export.calibration import Sample
from export.original import RequestedLanguages
from tests.engine.test_company import Engine, test_a_source_gives_the_same_to_the_last_bit_in_any_company
from tests.imports.huggingface import make_t5

LIMITS = ModelLimits(60, 70)
"""Targets are longer than the distance from which positions share a bucket."""

__all__ = ["test_a_source_gives_the_same_to_the_last_bit_in_any_company"]
"""Collected here, too, with this module's `engine`: among rows at other positions."""


def export(folder: Path, bundle: Path, precision: str) -> Path:
    original = huggingface.load(folder, RequestedLanguages())
    rng = np.random.default_rng(3)
    vocab_size, eos_id = original.model.config.source_vocab_size, original.model.config.eos_id
    sources = [[*rng.integers(5, vocab_size, length).tolist(), eos_id] for length in range(2, 40)]
    samples = [Sample(source, (original.model.config.bos_id,)) for source in sources]
    bundle.mkdir()
    write_bundle(bundle, original, precision, BundleMetadata("t5", "none", LIMITS), samples)
    return bundle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("t5") / "original"
    make_t5.write_t5(folder, make_t5.UL2)
    return folder


@pytest.fixture(scope="module", params=["fp32", "int8"])
def engine(request: pytest.FixtureRequest, folder: Path) -> Engine:
    return Engine(export(folder, folder.with_name(request.param), request.param), "onnxruntime")


def test_the_manifest_names_a_width_that_heads_do_not_add_up_to(engine: Engine) -> None:
    sizes = engine.manifest.sizes

    assert (sizes.width, sizes.model_width, sizes.attention_width) == (40, 40, 96)


def test_kernels_that_lack_the_operators_say_so(engine: Engine, folder: Path) -> None:
    if engine.manifest.precision != "int8" or library() is None:
        pytest.skip("kernels are for int8")
    bundle = open_bundle(folder.with_name("int8"))

    with pytest.raises(NotSupported, match="relative positions"):
        read_programs(bundle)


def test_float16_is_rejected_for_relative_positions(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="fp16: relative positions"):
        export(folder, tmp_path / "bundle", "fp16")
