"""Builder of an ONNX graph: nodes, weights, and the few operator patterns that the model needs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from dragoman.contract import Port
from export.graph.exported_graph import ExportedGraph, WeightPart

OPSET = 20
CONTRIB = "com.microsoft"
"""Domain of onnxruntime's own operators: attention with caches, integer matrix products."""
IR_VERSION = 10
PRODUCER = "dragoman export"

ELEMENT_TYPES = {
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
}


class GraphBuilder:
    """Collects nodes in execution order. Methods that choose the name of an output return it."""

    def __init__(self, name: str, outer: "GraphBuilder | None" = None) -> None:
        """Create a graph, or a branch inside `outer`, which can read its values and shares its weights."""
        self.name = name
        self._outer = outer
        self._prefix: str = "" if outer is None else f"{outer._prefix}{name}."  # noqa: SLF001 -- same class
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, NDArray[Any]] = {} if outer is None else outer._weights  # noqa: SLF001 -- same class
        self._parts: dict[str, WeightPart] = {} if outer is None else outer._parts  # noqa: SLF001
        self._splits: set[tuple[str, tuple[int, ...]]] = set()
        self._num_values = 0

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """Add a constant tensor; the same name means the same tensor. It is not copied, and must not change.

        A scalar becomes a vector of one element.
        """
        self._weights.setdefault(name, np.atleast_1d(array))
        return name

    def rows(self, table: str, rows: range) -> str:
        """Add adjacent rows of a constant as another constant. It is not copied, and not written again."""
        name = f"{table}.{rows.start}"
        self._parts[name] = WeightPart(table, rows.start)
        return self.weight(name, self._weights[table][rows.start : rows.stop])

    @property
    def outermost(self) -> "GraphBuilder":
        """The graph that contains all branches; its nodes exist only once."""
        return self if self._outer is None else self._outer.outermost

    def ints(self, *values: int) -> str:
        """Return a constant int64 vector, shared by value."""
        return self.weight("ints." + "_".join(map(str, values)), np.array(values, np.int64))

    def integer(self, value: int, dtype: str) -> str:
        """Return a constant integer of a type, shared by value."""
        return self.weight(f"{dtype}.{value}", np.array(value, dtype))

    def positions(self, length: str) -> str:
        """Return the positions 0 to `length`, a scalar int64, without that itself."""
        return self.op("Range", self.integer(0, "int64"), length, self.integer(1, "int64"))

    def scalar(self, value: float) -> str:
        """Return a constant float32 scalar, shared by value."""
        return self.weight(f"scalar.{value!r}", np.array(value, np.float32))

    def op(
        self, op_type: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node with one output."""
        output = output or self._new_name(op_type)
        self.node(op_type, inputs, (output,), domain=domain, **attributes)
        return output

    def split(self, value: str, sizes: Sequence[int]) -> list[str]:
        """Split a value's first axis into pieces; equal splits of a value share one node."""
        outputs = [self.named(f"{value}.from_{first}") for first in itertools.accumulate(sizes, initial=0)]
        if (value, tuple(sizes)) not in self._splits:
            self._splits.add((value, tuple(sizes)))
            self.node("Split", (value, self.ints(*sizes)), outputs[:-1], axis=0)
        return outputs[:-1]

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> None:
        """Add a node with named outputs."""
        node = helper.make_node(op_type, inputs, outputs, name=f"{outputs[0]}:{op_type}", domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)

    def rename(self, value: str, name: str) -> str:
        """Rename the only output of the latest node, which nothing reads yet, to an output of the graph."""
        (node,) = (node for node in self._nodes[-1:] if list(node.output) == [value])
        node.output[0] = name
        return name

    def named(self, name: str) -> str:
        """Return a value's name that no other branch has."""
        return f"{self._prefix}{name}"

    def choose(
        self, condition: str, then: "GraphBuilder", otherwise: "GraphBuilder", outputs: Mapping[str, str]
    ) -> None:
        """Run one of two branches.

        Args:
            condition: a scalar bool.
            then: branch to run if it is true.
            otherwise: branch to run if it is false.
            outputs: element types by name; the graph and both branches have a value `named(name)` for each.
        """
        self.node(
            "If",
            (condition,),
            [self.named(name) for name in outputs],
            then_branch=then._branch(outputs),  # noqa: SLF001 -- same class
            else_branch=otherwise._branch(outputs),  # noqa: SLF001
        )

    def scan(
        self,
        body: "GraphBuilder",
        initial: Mapping[str, str],
        inputs: Mapping[str, str],
        backwards: Sequence[str],
    ) -> dict[str, str]:
        """Run a body once for each position on axis 1; return every state after each position, by name.

        The body reads `named(NAME)` for each state and input, and has `named(next.NAME)` for each state.

        Args:
            body: graph of one position, made with this one as `outer`.
            initial: first value of each state [B, ...], by name.
            inputs: values [B, S, ...] that it reads position by position, by name.
            backwards: states and inputs that go from the last position to the first.
        """
        states = {name: body.op("Identity", body.named(f"next.{name}")) for name in initial}
        after = {name: self.named(f"{body.name}.{name}") for name in initial}
        after_first = [body.named(f"next.{name}") for name in initial]
        read, written = (
            [helper.make_empty_tensor_value_info(name) for name in names]
            for names in (map(body.named, (*initial, *inputs)), (*after_first, *states.values()))
        )
        self.node(
            "Scan",
            (*initial.values(), *inputs.values()),
            (*(self._new_name("Scan") for _ in initial), *after.values()),
            body=helper.make_graph(body._nodes, body.name, read, written),  # noqa: SLF001 -- same class
            num_scan_inputs=len(inputs),
            scan_input_axes=[1] * len(inputs),
            scan_output_axes=[1] * len(initial),
            scan_input_directions=[int(name in backwards) for name in inputs],
            scan_output_directions=[int(name in backwards) for name in initial],
        )
        return after

    def add_empty(self, outputs: Mapping[str, str]) -> None:
        """Add an empty value [0, 0] for each name and element type."""
        for name, dtype in outputs.items():
            empty = helper.make_tensor(name, ELEMENT_TYPES[dtype], (0, 0), ())
            self.op("Constant", output=self.named(name), value=empty)

    def _branch(self, outputs: Mapping[str, str]) -> onnx.GraphProto:
        values = [
            helper.make_tensor_value_info(self.named(name), ELEMENT_TYPES[dtype], None)
            for name, dtype in outputs.items()
        ]
        return helper.make_graph(self._nodes, self.name, [], values)

    def reshape(self, value: str, *shape: int) -> str:
        """Add a Reshape; 0 keeps a dimension, -1 takes the rest."""
        return self.op("Reshape", value, self.ints(*shape))

    def layer_norm(
        self, value: str, name: str, scale: NDArray[Any], bias: NDArray[Any], epsilon: float
    ) -> str:
        """Add a LayerNormalization over the last axis."""
        return self.op(
            "LayerNormalization",
            value,
            self.weight(f"{name}.scale", scale),
            self.weight(f"{name}.bias", bias),
            axis=-1,
            epsilon=epsilon,
        )

    def rms_norm(self, value: str, name: str, scale: NDArray[Any], epsilon: float) -> str:
        """Add an RMSNorm over the last axis, in onnxruntime's own form."""
        return self.op(
            "SimplifiedLayerNormalization",
            value,
            self.weight(f"{name}.scale", scale),
            axis=-1,
            epsilon=epsilon,
            stash_type=TensorProto.FLOAT,
        )

    def finish(
        self, inputs: Sequence[Port], outputs: Sequence[Port], sizes: Mapping[str, int]
    ) -> ExportedGraph:
        """Return the finished graph.

        Args:
            inputs: inputs in order.
            outputs: outputs in order; each must be the output of a node.
            sizes: fixed sizes by axis; the other axes stay symbolic.
        """
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [_value_info(port, sizes) for port in inputs],
            [_value_info(port, sizes) for port in outputs],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name=PRODUCER)
        return ExportedGraph(model, self._weights, self._parts)

    def _new_name(self, op_type: str) -> str:
        self._num_values += 1
        return f"{self._prefix}v{self._num_values}.{op_type}"


def _value_info(port: Port, sizes: Mapping[str, int]) -> onnx.ValueInfoProto:
    shape = [sizes.get(axis, axis) for axis in port.axes]
    return helper.make_tensor_value_info(port.name, ELEMENT_TYPES[port.dtype], shape)
