"""A large table of tokens is stored in parts, which give the same numbers as slices of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from export.graph import projection
from export.graph.precision import float32
from tests.parity.random_bundles import OWN_TARGET, logprobs_by_steps, random_inputs, random_model, write


@pytest.mark.parametrize("shape", [{}, {**OWN_TARGET, "tied_output": False}], ids=str)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_parts_of_a_large_table_give_the_same_log_probabilities(
    precision: str, shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(shape)
    sources, targets = random_inputs(model, num_steps=3, beams=2)
    vocab_size = model.config.target_vocab_size
    monkeypatch.setattr(projection, "MAX_PART_TOKENS", 40)
    monkeypatch.setattr(projection, "BLOCK_TOKENS", 4)
    small = write(tmp_path / "small", model, precision)
    monkeypatch.setattr(float32, "LARGE_TABLE_BYTES", 1)
    large = write(tmp_path / "large", model, precision)

    expected = logprobs_by_steps(small, sources, targets, vocab_size)
    found = logprobs_by_steps(large, sources, targets, vocab_size)

    np.testing.assert_array_equal(found, expected)
    assert "decoder.weights" in open_bundle(large).manifest.files
