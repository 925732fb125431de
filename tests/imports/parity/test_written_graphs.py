"""A graph's file has the weights that were written, in parts where large, in each precision."""

import itertools
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
from export.graph import projection
from export.graph.builder import ELEMENT_TYPES, GraphBuilder
from export.graph.exported_graph import ALIGNMENT, INLINE_BYTES, ExportedGraph
from export.graph.precision import PRECISIONS, float32
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    OWN_TARGET,
    SSRU,
    all_nodes,
    logprobs_by_steps,
    random_inputs,
    random_model,
    write,
)

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
