"""A graph's file has the weights that were written, in it or in a separate file."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from dragoman.contract import Port
from export.graph.builder import GraphBuilder
from export.graph.exported_graph import ALIGNMENT, INLINE_BYTES, ExportedGraph

TABLE = np.random.default_rng(1).standard_normal((300, 7)).astype(np.float32)
SMALL = np.array([[1.5, -2.0]], np.float16)
VALUES = np.random.default_rng(2).standard_normal((4, 300)).astype(np.float32)


def product() -> ExportedGraph:
    """Of values and a transposed view, which does not lie in one piece."""
    graph = GraphBuilder("product")
    left = graph.weight("left", np.asfortranarray(TABLE.T).T)
    product = graph.op("MatMul", "values", left)
    turned = graph.op("MatMul", product, graph.weight("turned", TABLE.T))
    small = graph.op("Cast", graph.weight("small", SMALL), attributes={"to": TensorProto.FLOAT})
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
    graph.op("Concat", table, *parts, output="result", attributes={"axis": 0})
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
