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
from export.model.generate import generate_greedy, pad
from tests.imports.model.numpy_bahdanau import NumpyBahdanau
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    BAHDANAU,
    EOS,
    OWN_TARGET,
    PART_TOKENS,
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
from tests.imports.parity.test_forced_decoding_graphs import MOST_ATTENTION, MOST_LOGPROB, read_all


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


SHAPES: list[dict[str, Any]] = [
    BAHDANAU,
    {
        **BAHDANAU,
        **OWN_TARGET,
        "tied_output": False,
        "scaled_embeddings": False,
        "suppressed_ids": (0, 17, 40),
    },
]
BEAMS = 2


@pytest.mark.parametrize("shape", SHAPES, ids=["shared", "separate"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_log_probabilities_and_attention_are_those_of_the_equations(
    precision: str, shape: dict[str, Any], tmp_path: Path
) -> None:
    """Of sources of several lengths side by side, with two targets each."""
    model = random_model(shape)
    folder = write(tmp_path / precision, model, precision)
    reference = NumpyBahdanau(dict(model.to_weights().weights), model.config.suppressed_ids)
    sources, targets = random_inputs(model, num_steps=7, beams=BEAMS)

    found = logprobs_by_steps(folder, sources, targets, model.config.target_vocab_size)
    _, attention = read_all(open_graphs(folder), sources, targets, None)

    for row, target in enumerate(targets.tolist()):
        source = sources[row // BEAMS]
        logprobs, weights = reference.run(source, target, model.embedding_factor)
        np.testing.assert_allclose(found[row], logprobs, rtol=0, atol=MOST_LOGPROB[precision])
        own, rest = np.split(attention[row], [len(source)], axis=1)
        np.testing.assert_allclose(own, weights, rtol=0, atol=MOST_ATTENTION[precision])
        assert not rest.any()


def test_greedy_search_is_pytorchs_on_a_hundred_inputs(tmp_path: Path) -> None:
    model = random_model(BAHDANAU)
    encoder, decoder = open_graphs(write(tmp_path / "fp32", model, "fp32"))
    rng = np.random.default_rng(6)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), EOS] for length in rng.integers(1, 30, 100)]
    num_steps = 15
    expected = generate_greedy(model, *pad(sources, model.config.pad_id), num_steps)

    steps = decoder.start(encoder.run(sources), 1)
    last = np.full(len(sources), model.config.bos_id)
    ids = np.stack([last := steps.step(last, 1)[1][:, 0].copy() for _ in range(num_steps)], axis=1).tolist()

    assert [row[: row.index(EOS)] if EOS in row else row for row in ids] == expected
