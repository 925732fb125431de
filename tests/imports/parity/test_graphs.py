"""The exported graphs against the PyTorch model: caches that grow, and vocabularies in parts."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from dragoman.graphs.caches import POSITIONS_MULTIPLE
from export.graph import projection
from export.graph.precision import PRECISIONS
from export.graph.precision.protocol import MIN_SPLIT_PARTS
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    OWN_TARGET,
    PART_TOKENS,
    all_nodes,
    best_by_steps,
    expected_logprobs,
    largest_difference,
    logprobs_by_steps,
    random_inputs,
    random_model,
)


def test_growing_caches_keep_every_position(exported: Export) -> None:
    num_steps = 3 * POSITIONS_MULTIPLE + 5

    assert largest_difference(random_model({}), exported({}, "fp32"), num_steps) < 1e-4


SPLIT_SHAPES: list[dict[str, Any]] = [{}, {**OWN_TARGET, "tied_output": False}]
NUMS_BEST = [1, 5, 19, 20, 21, 50, 80]
"""Candidates: fewer than a part has, as many, and more."""


def num_parts(folder: Path) -> int:
    """Of the vocabulary's projection: each has a bias."""
    weights = onnx.load(folder / "decoder.onnx").graph.initializer
    return sum(re.fullmatch(r"output\.\d+\.bias", weight.name) is not None for weight in weights)


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize("shape", SPLIT_SHAPES, ids=str)
def test_a_split_vocabulary_gives_the_models_best_logprobs(shape: dict[str, Any], exported: Export) -> None:
    model, folder = random_model(shape), exported(shape, "fp32")
    assert num_parts(folder) == -(-model.config.target_vocab_size // PART_TOKENS)
    sources, targets = random_inputs(model, num_steps=5, beams=2)
    expected = expected_logprobs(model, sources, targets)
    best_first = -np.sort(-expected, axis=2)

    for num_best in NUMS_BEST:
        logprobs, ids = best_by_steps(folder, sources, targets, num_best)

        np.testing.assert_allclose(logprobs, best_first[:, :, :num_best], atol=1e-4)
        np.testing.assert_allclose(logprobs, np.take_along_axis(expected, ids, axis=2), atol=1e-4)
        assert (np.diff(np.sort(ids, axis=2), axis=2) > 0).all(), "no token comes twice"


@pytest.mark.parametrize("shape", SPLIT_SHAPES, ids=str)
def test_int8_finds_the_same_best_tokens_with_split_and_whole_vocabulary(
    shape: dict[str, Any], exported: Export, request: pytest.FixtureRequest
) -> None:
    model, whole = random_model(shape), exported(shape, "int8")
    request.getfixturevalue("split")
    parts = exported(shape, "int8")
    assert (num_parts(whole), num_parts(parts)) == (1, -(-model.config.target_vocab_size // PART_TOKENS))
    sources, targets = random_inputs(model, num_steps=5, beams=2)

    for num_best in NUMS_BEST:
        expected_best, expected_ids = best_by_steps(whole, sources, targets, num_best)
        logprobs, ids = best_by_steps(parts, sources, targets, num_best)

        np.testing.assert_array_equal(ids, expected_ids)
        np.testing.assert_allclose(logprobs, expected_best, atol=1e-5)


@pytest.mark.parametrize("shape", SPLIT_SHAPES, ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_many_vocabulary_parts_are_split_by_one_operator_with_the_same_result(
    precision: str, shape: dict[str, Any], exported: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(shape)
    sources, targets = random_inputs(model, num_steps=3, beams=2)
    vocab_size = model.config.target_vocab_size
    expected = logprobs_by_steps(exported(shape, precision), sources, targets, vocab_size)
    monkeypatch.setattr(projection, "MAX_PART_TOKENS", 4)
    monkeypatch.setattr(projection, "BLOCK_TOKENS", 2)
    parts = exported(shape, precision)
    nodes = all_nodes(onnx.load(parts / "decoder.onnx").graph)
    (cut,) = (node for node in nodes if node.op_type == "Split")
    assert len(cut.output) == num_parts(parts) == vocab_size // 4 >= MIN_SPLIT_PARTS

    found = logprobs_by_steps(parts, sources, targets, vocab_size)

    np.testing.assert_allclose(found, expected, atol=1e-5)
