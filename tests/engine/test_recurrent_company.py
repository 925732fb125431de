"""Bundles of a recurrent model go through every search, and give each source the same in any company."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import open_bundle
from dragoman.native.instructions import NotSupported
from dragoman.native.model import read_programs
from tests.engine.test_company import Engine, test_a_source_gives_the_same_to_the_last_bit_in_any_company
from tests.imports.parity.random_bundles import BAHDANAU, random_model, write

SHAPE: dict[str, Any] = {**BAHDANAU, "d_model": 64, "source_vocab_size": 360, "target_vocab_size": 360}
"""The tokenizer has as many pieces."""

__all__ = ["test_a_source_gives_the_same_to_the_last_bit_in_any_company"]
"""Collected here, too, with this module's `engine`."""


@pytest.fixture(scope="module", params=["fp32", "int8"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("recurrent") / request.param, random_model(SHAPE), request.param)


@pytest.fixture(scope="module")
def engine(bundle: Path) -> Engine:
    return Engine(bundle, "onnxruntime")


def test_the_manifest_names_the_architecture(bundle: Path) -> None:
    manifest = open_bundle(bundle).manifest

    assert manifest.autoregression == "gru"
    assert manifest.origin["shape"]["architecture"] == "bahdanau"
    assert manifest.sizes.model_width == SHAPE["d_model"]


def test_kernels_say_that_they_are_for_transformers(bundle: Path) -> None:
    reason = "it is a recurrent model, and kernels are for Transformers|kernels are for int8"

    with pytest.raises(NotSupported, match=reason):
        read_programs(open_bundle(bundle))
