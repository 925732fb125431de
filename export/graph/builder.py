"""A growing ONNX graph: nodes, weights, and the few shapes of operators the model needs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from dragoman.contract import Port
from export.graph.written import WrittenGraph

OPSET = 20
CONTRIB = "com.microsoft"
"""onnxruntime's own operators: attention with caches, integer matrix products."""
IR_VERSION = 10

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
    """Collects nodes in execution order. Every method that adds a node returns its output's name."""

    def __init__(self, name: str, outer: "GraphBuilder | None" = None) -> None:
        """A graph, or a branch inside of `outer`, which sees all that stands there and shares its weights."""
        self.name = name
        self._outer = outer
        self._prefix: str = "" if outer is None else f"{outer._prefix}{name}."  # noqa: SLF001 -- our own
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, NDArray[Any]] = {} if outer is None else outer._weights  # noqa: SLF001 -- our own
        self._cuts: set[tuple[str, tuple[int, ...]]] = set()
        self._num_values = 0

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """A constant tensor; the same name twice is the same tensor. Not copied: it must stay as it is.

        A scalar becomes a vector of one element.
        """
        self._weights.setdefault(name, np.atleast_1d(array))
        return name

    @property
    def outermost(self) -> "GraphBuilder":
        """The graph itself, or the one that a branch is inside of: what stands there is there once."""
        return self if self._outer is None else self._outer.outermost

    def ints(self, *values: int) -> str:
        """A constant int64 vector, shared by value."""
        return self.weight("ints." + "_".join(map(str, values)), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        """A constant float32 scalar, shared by value."""
        return self.weight(f"scalar.{value!r}", np.array(value, np.float32))

    def op(
        self,
        op_type: str,
        *inputs: str,
        output: str | None = None,
        domain: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a node with one output."""
        output = output or self._fresh(op_type)
        self.node(op_type, inputs, (output,), domain=domain, attributes=attributes)
        return output

    def split(self, value: str, sizes: Sequence[int]) -> list[str]:
        """Cut a value's first axis into pieces; the same cut is made once."""
        outputs = [self.named(f"{value}.from_{first}") for first in itertools.accumulate(sizes, initial=0)]
        if (value, tuple(sizes)) not in self._cuts:
            self._cuts.add((value, tuple(sizes)))
            self.node("Split", (value, self.ints(*sizes)), outputs[:-1], attributes={"axis": 0})
        return outputs[:-1]

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a node with named outputs."""
        node = helper.make_node(op_type, inputs, outputs, name=f"{outputs[0]}:{op_type}", domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in (attributes or {}).items())
        self._nodes.append(node)

    def rename(self, value: str, name: str) -> str:
        """Give the latest node's only output, which nothing reads yet, the name of a graph's output."""
        (node,) = (node for node in self._nodes[-1:] if list(node.output) == [value])
        node.output[0] = name
        return name

    def named(self, name: str) -> str:
        """A value's name that no other branch has."""
        return f"{self._prefix}{name}"

    def choose(
        self, condition: str, then: "GraphBuilder", otherwise: "GraphBuilder", outputs: Mapping[str, str]
    ) -> None:
        """Run one of two branches.

        Args:
            condition: a scalar bool.
            then: the branch where it is true.
            otherwise: the branch where it is false.
            outputs: names with their element types; the graph and both branches have a value `named` so for
                each.
        """
        branches = {
            "then_branch": then._branch(outputs),  # noqa: SLF001 -- our own
            "else_branch": otherwise._branch(outputs),  # noqa: SLF001
        }
        self.node("If", (condition,), [self.named(name) for name in outputs], attributes=branches)

    def leave_empty(self, outputs: Mapping[str, str]) -> None:
        """Values [0, 0] of such names and element types."""
        for name, dtype in outputs.items():
            empty = helper.make_tensor(name, ELEMENT_TYPES[dtype], (0, 0), ())
            self.op("Constant", output=self.named(name), attributes={"value": empty})

    def _branch(self, outputs: Mapping[str, str]) -> onnx.GraphProto:
        values = [
            helper.make_tensor_value_info(self.named(name), ELEMENT_TYPES[dtype], None)
            for name, dtype in outputs.items()
        ]
        return helper.make_graph(self._nodes, self.name, [], values)

    def reshape(self, value: str, *shape: int) -> str:
        """0 keeps a dimension, -1 takes what is left."""
        return self.op("Reshape", value, self.ints(*shape))

    def layer_norm(
        self, value: str, name: str, scale: NDArray[Any], bias: NDArray[Any], epsilon: float
    ) -> str:
        """Over the last axis."""
        return self.op(
            "LayerNormalization",
            value,
            self.weight(f"{name}.scale", scale),
            self.weight(f"{name}.bias", bias),
            attributes={"axis": -1, "epsilon": epsilon},
        )

    def finish(
        self, inputs: Sequence[Port], outputs: Sequence[Port], sizes: Mapping[str, int], producer: str
    ) -> WrittenGraph:
        """The finished graph.

        Args:
            inputs: in order.
            outputs: in order; every one must be the output of a node.
            sizes: the axes with a fixed size; the others stay symbolic.
            producer: name and version of the exporting program.
        """
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [_value_info(port, sizes) for port in inputs],
            [_value_info(port, sizes) for port in outputs],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name=producer)
        return WrittenGraph(model, self._weights)

    def _fresh(self, op_type: str) -> str:
        self._num_values += 1
        return f"{self._prefix}v{self._num_values}.{op_type}"


def _value_info(port: Port, sizes: Mapping[str, int]) -> onnx.ValueInfoProto:
    shape = [sizes.get(axis, axis) for axis in port.axes]
    return helper.make_tensor_value_info(port.name, ELEMENT_TYPES[port.dtype], shape)
