"""Graphs are read as onnx reads them; damaged files are errors, whatever is wrong with them."""

import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from dragoman.native.onnx_file import Graph, OnnxFileError, read_graph
from tests.paths import MODELS

MODEL = MODELS / "de-en"
MANY = 200_000


def small_model(num_dims: int = 2) -> onnx.ModelProto:
    """A graph with attributes of all kinds, a branch, and weights."""
    then, otherwise = (
        helper.make_graph(
            [helper.make_node(operator, ["x"], [f"{operator}_out"])],
            operator,
            [],
            [helper.make_tensor_value_info(f"{operator}_out", TensorProto.FLOAT, None)],
        )
        for operator in ("Relu", "Neg")
    )
    nodes = [
        helper.make_node("Gelu", ["x"], ["y"], approximate="tanh"),
        helper.make_node("Norm", ["y", "w"], ["z"], epsilon=1e-5, axis=-1),
        helper.make_node("If", ["b"], ["out"], then_branch=then, else_branch=otherwise),
    ]
    weights = [
        numpy_helper.from_array(np.arange(6, dtype=np.int8).reshape(2, 3), "w"),
        numpy_helper.from_array(np.ones((1,) * num_dims, np.float32), "ones"),
    ]
    return helper.make_model(helper.make_graph(nodes, "small", [], [], weights))


SMALL = small_model().SerializeToString()


def assert_same(found: Graph, expected: onnx.GraphProto, folder: Path) -> None:
    weights = {each.name: numpy_helper.to_array(each, str(folder)) for each in expected.initializer}
    assert found.weights.keys() == weights.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(found.weights[name], weight)
        assert found.weights[name].dtype == weight.dtype
    for node, same in zip(found.nodes, expected.node, strict=True):
        assert (node.operator, node.inputs, node.outputs) == (
            same.op_type,
            tuple(same.input),
            tuple(same.output),
        )
        attributes = {each.name: helper.get_attribute_value(each) for each in same.attribute}
        for name, value in attributes.items():
            if isinstance(value, onnx.GraphProto):
                assert_same(node.branches[name], value, folder)
            elif isinstance(value, bytes):
                assert node.texts[name] == value.decode()
            elif isinstance(value, int | float):
                assert node.numbers[name] == value


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx"])
def test_the_graphs_of_a_bundle_are_read_as_onnx_reads_them(name: str) -> None:
    expected = onnx.load(str(MODEL / name))

    assert_same(read_graph(MODEL / name), expected.graph, MODEL)


def test_a_graph_in_several_parts_is_joined(tmp_path: Path) -> None:
    """So exports write it: protobuf merges a message that comes several times."""
    one, other = onnx.ModelProto(), onnx.ModelProto()
    one.graph.node.append(helper.make_node("Relu", ["x"], ["y"]))
    other.graph.initializer.append(numpy_helper.from_array(np.arange(3, dtype=np.float32), "w"))
    path = tmp_path / "parts.onnx"
    path.write_bytes(one.SerializeToString() + other.SerializeToString())

    assert_same(read_graph(path), onnx.load(str(path)).graph, tmp_path)


def test_weights_beside_the_graph_are_read_from_their_file(tmp_path: Path) -> None:
    model = onnx.ModelProto.FromString(SMALL)
    path = tmp_path / "external.onnx"
    onnx.save_model(
        model, str(path), save_as_external_data=True, location="external.weights", size_threshold=0
    )

    assert_same(read_graph(path), onnx.load(str(path)).graph, tmp_path)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzed") / "fuzzed.onnx"


def read_damaged(path: Path, content: bytes) -> None:
    """Read a graph that may be damaged; any error but one is a bug."""
    path.unlink(missing_ok=True)  # an earlier file may still be mapped
    path.write_bytes(content)
    with suppress(OnnxFileError):
        read_graph(path)


@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=8))
def test_changed_bytes_are_at_most_one_kind_of_error(fuzzed: Path, changes: list[tuple[int, int]]) -> None:
    content = bytearray(SMALL)
    for place, value in changes:
        content[place] = value
    read_damaged(fuzzed, bytes(content))


@given(st.integers(0, len(SMALL)), st.binary(max_size=40), st.integers(0, len(SMALL)))
def test_cut_and_lengthened_files_are_at_most_one_kind_of_error(
    fuzzed: Path, cut: int, between: bytes, resumed: int
) -> None:
    read_damaged(fuzzed, SMALL[:cut] + between + SMALL[resumed:])


@given(st.binary(max_size=200))
def test_any_bytes_are_at_most_one_kind_of_error(fuzzed: Path, content: bytes) -> None:
    read_damaged(fuzzed, content)


def field(number: int, content: bytes) -> bytes:
    """A field of bytes in protobuf's encoding."""
    size, groups = len(content), []
    while size > 0x7F:
        groups.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *groups, size]) + content


def deep_graph(depth: int) -> bytes:
    graph = b""
    for _ in range(depth):
        graph = field(1, field(4, b"If") + field(5, field(1, b"branch") + field(6, graph)))
    return field(7, graph)


def external(**entries: str) -> bytes:
    """A weight of no bytes in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[0], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return field(7, field(5, tensor.SerializeToString()))


def weight_with_dims(*dims: int) -> bytes:
    packed = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"")
    return field(7, field(5, packed.SerializeToString()))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(deep_graph(500), id="graphs in graphs"),
        pytest.param(external(location="missing", length="0"), id="missing file"),
        pytest.param(external(location="..", length="0"), id="folder"),
        pytest.param(external(location="../fuzzed.onnx", length="0"), id="file elsewhere"),
        pytest.param(external(location="a\0b", length="0"), id="name with zero byte"),
        pytest.param(external(location="fuzzed.onnx", offset="-1", length="1"), id="before the file"),
        pytest.param(external(location="fuzzed.onnx", length="9" * 5000), id="long number"),
        pytest.param(external(length="0"), id="no file"),
        pytest.param(weight_with_dims(0, -1), id="negative dimension"),
        pytest.param(weight_with_dims(0, 2**62, 2**62), id="large dimensions"),
        pytest.param(weight_with_dims(*[3] * MANY), id="many dimensions"),
        pytest.param(field(7, b"\x0a\x00" * MANY), id="many nodes of nothing"),
        pytest.param(field(7, field(5, b"\x08" + b"\xff" * 12)), id="integer without end"),
    ],
)
def test_hostile_files_are_errors(fuzzed: Path, content: bytes) -> None:
    fuzzed.unlink(missing_ok=True)
    fuzzed.write_bytes(content)

    with pytest.raises(OnnxFileError):
        read_graph(fuzzed)


def test_a_bundle_whose_weights_are_cut_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    shutil.copy(MODEL / "decoder.onnx", path)
    for each in MODEL.glob("*.weights"):
        (tmp_path / each.name).write_bytes(each.read_bytes()[:-1])
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(OnnxFileError):
        read_graph(path)
