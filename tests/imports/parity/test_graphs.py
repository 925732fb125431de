"""The exported graphs against the PyTorch model, and the weights that their files have."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from dragoman import contract
from dragoman.bundle import open_bundle
from dragoman.contract import Port
from dragoman.graphs.caches import POSITIONS_MULTIPLE
from export.graph import projection
from export.graph.builder import ELEMENT_TYPES, GraphBuilder
from export.graph.exported_graph import ALIGNMENT, INLINE_BYTES, ExportedGraph
from export.graph.precision import PRECISIONS, float32
from export.graph.precision.protocol import MIN_SPLIT_PARTS
from export.model.generate import generate_greedy, pad
from tests.imports.model.numpy_bahdanau import NumpyBahdanau
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    BAHDANAU,
    EOS,
    OWN_TARGET,
    PART_TOKENS,
    SSRU,
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


TABLE = np.random.default_rng(1).standard_normal((300, 7)).astype(np.float32)
SMALL = np.array([[1.5, -2.0]], np.float16)
VALUES = np.random.default_rng(2).standard_normal((4, 300)).astype(np.float32)


def product() -> ExportedGraph:
    """Of values and a transposed view, which does not lie in one piece."""
    graph = GraphBuilder("product")
    left = graph.weight("left", np.asfortranarray(TABLE.T).T)
    product = graph.op("MatMul", "values", left)
    turned = graph.op("MatMul", product, graph.weight("turned", TABLE.T))
    small = graph.op("Cast", graph.weight("small", SMALL), to=TensorProto.FLOAT)
    graph.op("Add", turned, graph.op("ReduceSum", small), output="result")
    ports = (Port("values", "float32", ("R", "C")),), (Port("result", "float32", ("R", "C")),)
    return graph.finish(*ports, {})


@pytest.mark.parametrize("external_from_bytes", [0, 2**30])
def test_onnxruntime_computes_with_the_given_weights(external_from_bytes: int, tmp_path: Path) -> None:
    product().save(tmp_path / "product.onnx", external_from_bytes)

    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"product.onnx"} | (set() if external_from_bytes else {"product.weights"})
    session = onnxruntime.InferenceSession(tmp_path / "product.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"values": VALUES})
    np.testing.assert_allclose(found, VALUES @ TABLE @ TABLE.T - 0.5, rtol=1e-4, atol=1e-3)


def test_external_weights_are_page_aligned_and_small_ones_stay_in_the_graph(tmp_path: Path) -> None:
    product().save(tmp_path / "product.onnx", 0)

    graph = onnx.load(tmp_path / "product.onnx", load_external_data=False).graph
    places = {
        weight.name: {entry.key: entry.value for entry in weight.external_data}
        for weight in graph.initializer
    }

    assert SMALL.nbytes < INLINE_BYTES < TABLE.nbytes
    assert places["small"] == {}
    for name in ("left", "turned"):
        assert places[name]["location"] == "product.weights"
        assert int(places[name]["offset"]) % ALIGNMENT == 0
        assert int(places[name]["length"]) == TABLE.nbytes
    onnx.checker.check_model(tmp_path / "product.onnx")


def test_rows_of_a_weight_are_the_same_bytes_of_the_file_and_the_same_numbers(tmp_path: Path) -> None:
    graph = GraphBuilder("sum")
    table = graph.weight("table", TABLE)
    parts = [graph.rows(table, range(first, first + 100)) for first in (0, 100, 200)]
    graph.op("Concat", table, *parts, output="result", axis=0)
    written = graph.finish((), (Port("result", "float32", ("R", "C")),), {})

    written.save(tmp_path / "sum.onnx", 2**30)

    assert written.size_bytes == TABLE.nbytes == (tmp_path / "sum.weights").stat().st_size
    session = onnxruntime.InferenceSession(tmp_path / "sum.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {})
    np.testing.assert_array_equal(found, np.concatenate([TABLE, TABLE]))


def test_weights_are_written_without_copying_and_are_the_same_in_one_file_as_in_two(tmp_path: Path) -> None:
    graph = product()
    graph.save(tmp_path / "beside.onnx", 0)
    graph.save(tmp_path / "inside.onnx", 2**30)

    assert np.shares_memory(graph.weights["turned"], TABLE)
    assert graph.size_bytes == 2 * TABLE.nbytes + SMALL.nbytes
    beside, inside, whole = (
        {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}
        for model in (onnx.load(tmp_path / "beside.onnx"), onnx.load(tmp_path / "inside.onnx"), graph.whole())
    )
    assert beside.keys() == inside.keys() == whole.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, beside[name], strict=True)
        np.testing.assert_array_equal(array, inside[name], strict=True)


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


@pytest.fixture(params=itertools.product(PRECISIONS, [{}, SSRU]), ids=str)
def bundle(request: pytest.FixtureRequest, exported: Export) -> Path:
    precision, shape = request.param
    return exported(shape, precision)


def load_graphs(bundle: Path) -> tuple[onnx.GraphProto, onnx.GraphProto]:
    return onnx.load(bundle / "encoder.onnx").graph, onnx.load(bundle / "decoder.onnx").graph


def test_graph_inputs_and_outputs_match_the_contract(bundle: Path) -> None:
    manifest = open_bundle(bundle).manifest
    shape = (manifest.sizes.decoder_layers, manifest.cache_dtype, manifest.autoregression)
    expected = (
        (contract.encoder_inputs(), contract.encoder_outputs(manifest.cache_dtype)),
        (contract.decoder_inputs(*shape), contract.decoder_outputs(*shape)),
    )

    for graph, ports in zip(load_graphs(bundle), expected, strict=True):
        for found, wanted in zip((graph.input, graph.output), ports, strict=True):
            assert [(value.name, value.type.tensor_type.elem_type) for value in found] == [
                (port.name, ELEMENT_TYPES[port.dtype]) for port in wanted
            ]
            assert [len(value.type.tensor_type.shape.dim) for value in found] == [
                len(port.axes) for port in wanted
            ]
    for name in (contract.ENCODER_FILE, contract.DECODER_FILE):
        onnx.checker.check_model(onnx.load(bundle / name))


def test_fp16_weights_are_16_bit_and_the_best_tokens_are_chosen_in_32_bit(bundle: Path) -> None:
    if open_bundle(bundle).manifest.precision != "fp16":
        pytest.skip("of fp16 only")
    for graph in load_graphs(bundle):
        types = {weight.name: weight.data_type for weight in graph.initializer}

        assert TensorProto.FLOAT not in types.values()
        assert types["embedding"] == types["positions"] == TensorProto.FLOAT16
    nodes = all_nodes(load_graphs(bundle)[1])
    makers = {name: node for node in nodes for name in node.output}
    (softmax,) = (node for node in nodes if node.op_type == "LogSoftmax")
    cast = makers[softmax.input[0]]
    assert cast.op_type == "Cast"
    assert cast.attribute[0].i == TensorProto.FLOAT
