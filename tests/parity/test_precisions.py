"""The operators and weights in the graphs of each precision."""

import itertools
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from dragoman import contract
from dragoman.bundle import open_bundle
from export.graph.builder import ELEMENT_TYPES
from export.graph.precision import PRECISIONS
from tests.parity.conftest import Export
from tests.parity.random_bundles import SSRU, all_nodes


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


def test_int4_quantises_all_decoder_step_layers_and_no_encoder_layer(bundle: Path) -> None:
    manifest = open_bundle(bundle).manifest
    if manifest.precision != "int4":
        pytest.skip("of int4 only")
    encoder, decoder = load_graphs(bundle)
    of_target = {
        "attention": ("self_attention.query", "self_attention.output"),
        "ssru": ("self_recurrence.cell",),
    }
    maps = [
        f"decoder.{layer}.{name}.weight"
        for layer in (0, 1)
        for name in (
            *of_target[manifest.autoregression],
            "cross_attention.query",
            "cross_attention.output",
            "feed_forward.inner",
            "feed_forward.outer",
        )
    ]

    assert [node.input[1] for node in all_nodes(decoder) if node.op_type == "MatMulNBits"] == maps
    assert "MatMulNBits" not in {node.op_type for node in all_nodes(encoder)}
    assert all(weight.data_type == TensorProto.UINT8 for weight in decoder.initializer if weight.name in maps)
