"""The exported graphs against the PyTorch model, in every shape."""

import itertools
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
from tests.parity.random_bundles import (
    OWN_TARGET,
    VOCAB,
    all_nodes,
    best_by_steps,
    expected_logprobs,
    largest_difference,
    logprobs_by_steps,
    open_graphs,
    random_inputs,
    random_model,
    write,
)

pytestmark = pytest.mark.usefixtures("one_torch_thread")

SHAPES: list[dict[str, Any]] = [
    {"norm": norm, "activation": activation, "positions": positions}
    for norm, activation, positions in itertools.product(
        ("pre", "post"), ("relu", "gelu", "swish"), ("sinusoidal", "learned")
    )
] + [
    {"share_kv": True},
    {"tied_output": False},
    OWN_TARGET,
    {**OWN_TARGET, "tied_output": False},
    {"heads": 1, "d_model": 8},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("precision", "most"), [("fp32", 1e-4), ("fp16", 2e-2)])
def test_float_graphs_give_the_models_logprobs(
    precision: str, most: float, shape: dict[str, Any], tmp_path: Path
) -> None:
    """Where onnxruntime's CPU provider has no operator for fp16, it casts to float32 and back."""
    model = random_model(shape)

    assert largest_difference(model, write(tmp_path, model, precision)) < most


@pytest.mark.parametrize(
    "shape", [SHAPES[0], SHAPES[-1], {"shared_vocab": False, "tied_output": False}], ids=str
)
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_logprobs_of_quantised_graphs_are_close_to_the_models(
    precision: str, shape: dict[str, Any], tmp_path: Path
) -> None:
    """A broken scale or a mixed-up weight moves some logprob by several units, rounding by tenths at most."""
    model = random_model(shape)

    assert 0 < largest_difference(model, write(tmp_path, model, precision)) < 1.0


def test_growing_caches_keep_every_position(tmp_path: Path) -> None:
    model = random_model({})

    assert (
        largest_difference(model, write(tmp_path, model, "fp32"), num_steps=3 * POSITIONS_MULTIPLE + 5) < 1e-4
    )


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_gives_the_same_result_alone_and_in_a_batch(precision: str, tmp_path: Path) -> None:
    """Neighbours of other lengths change neither cross K/V nor the best candidates of a source."""
    model = random_model({})
    encoder, decoder = open_graphs(write(tmp_path, model, precision))
    rng = np.random.default_rng(11)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), 3] for length in (5, 31, 12, 2, 23, 7)]
    together = decoder.start(encoder.run(sources), 1)
    alone = [decoder.start(encoder.run([source]), 1) for source in sources]
    for _ in range(6):
        last_ids = rng.integers(4, VOCAB, len(sources))
        logprobs, ids = together.step(last_ids, 5)
        for row, steps in enumerate(alone):
            own_logprobs, own_ids = steps.step(last_ids[row : row + 1], 5)

            np.testing.assert_array_equal(own_ids[0], ids[row])
            np.testing.assert_allclose(own_logprobs[0], logprobs[row], atol=1e-5)


def test_selected_rows_continue_from_their_parents(tmp_path: Path) -> None:
    """After beams were reordered and a source left, each row answers as if it had been alone all along."""
    model = random_model({})
    encoder, decoder = open_graphs(write(tmp_path, model, "fp32"))
    rng = np.random.default_rng(13)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), 3] for length in (6, 14, 9)]
    steps = decoder.start(encoder.run(sources), 2)
    history = rng.integers(4, VOCAB, (6, 4))
    for step in range(4):
        steps.step(history[:, step], 1)

    steps.select(
        np.array([5, 4, 3, 3])
    )  # source 2 with its beams swapped, source 1 with its second beam twice
    last_ids = rng.integers(4, VOCAB, 4)
    logprobs, ids = steps.step(last_ids, 4)

    for row, (source, parent) in enumerate([(2, 5), (2, 4), (1, 3), (1, 3)]):
        alone = decoder.start(encoder.run([sources[source]]), 1)
        for token in history[parent]:
            alone.step(np.array([token]), 1)
        own_logprobs, own_ids = alone.step(last_ids[row : row + 1], 4)
        np.testing.assert_array_equal(own_ids[0], ids[row])
        np.testing.assert_allclose(own_logprobs[0], logprobs[row], atol=1e-5)


PART_TOKENS, BLOCK_TOKENS = 20, 4
"""Of 96 tokens this makes four parts of 20 and one of 16; of 80, four of 20."""
SPLIT_SHAPES: list[dict[str, Any]] = [
    {},
    {**OWN_TARGET, "tied_output": False},
]
NUMS_BEST = [1, 5, 19, 20, 21, 50, 80]
"""Candidates: fewer than a part has, as many, and more."""


def split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts, and few rows that count as many."""
    monkeypatch.setattr(projection, "MAX_PART_TOKENS", PART_TOKENS)
    monkeypatch.setattr(projection, "BLOCK_TOKENS", BLOCK_TOKENS)
    monkeypatch.setattr(projection, "MIN_BLOCK_ROWS", 2)


def num_parts(folder: Path) -> int:
    """Of the vocabulary's projection: each has a bias."""
    weights = onnx.load(folder / "decoder.onnx").graph.initializer
    return sum(re.fullmatch(r"output\.\d+\.bias", weight.name) is not None for weight in weights)


@pytest.mark.parametrize("shape", SPLIT_SHAPES, ids=str)
def test_a_split_vocabulary_gives_the_models_best_logprobs(
    shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(monkeypatch)
    model = random_model(shape)
    folder = write(tmp_path, model, "fp32")
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
    shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(shape)
    whole = write(tmp_path / "whole", model, "int8")
    split(monkeypatch)
    parts = write(tmp_path / "parts", model, "int8")
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
    precision: str, shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(shape)
    sources, targets = random_inputs(model, num_steps=3, beams=2)
    vocab_size = model.config.target_vocab_size
    expected = logprobs_by_steps(write(tmp_path / "whole", model, precision), sources, targets, vocab_size)
    monkeypatch.setattr(projection, "MAX_PART_TOKENS", 4)
    monkeypatch.setattr(projection, "BLOCK_TOKENS", 2)
    parts = write(tmp_path / "parts", model, precision)
    nodes = all_nodes(onnx.load(parts / "decoder.onnx").graph)
    (cut,) = (node for node in nodes if node.op_type == "Split")
    assert len(cut.output) == num_parts(parts) == vocab_size // 4 >= MIN_SPLIT_PARTS

    found = logprobs_by_steps(parts, sources, targets, vocab_size)

    np.testing.assert_allclose(found, expected, atol=1e-5)
