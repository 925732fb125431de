"""A finished graph. Its weights are written to the file one by one from the model's own memory, so there is
never a second copy of a large embedding table.

A file in one piece uses that protobuf merges the parts of a message that occurs several times: after the
graph without its weights, each weight follows as another part of the graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

INLINE_BYTES = 1024
"""A smaller weight stays in the graph's own file, where onnxruntime can use it for optimisation."""
LENGTH_DELIMITED = 2
"""Protobuf's type of fields with a size: messages and bytes."""
ALIGNMENT = 4096
"""Alignment of weights in a separate file, in bytes: a page, so that they can be mapped into memory."""


@dataclass(frozen=True, slots=True)
class WeightPart:
    """Adjacent rows of another weight."""

    weight: str
    """Name of that one, which is not small."""
    first_row: int


@dataclass(frozen=True, slots=True)
class ExportedGraph:
    """A complete graph and its weights."""

    model: onnx.ModelProto
    """The graph without its weights."""
    weights: Mapping[str, NDArray[Any]]
    """Weights by name; some are views of the model's own."""
    parts: Mapping[str, WeightPart] = field(default_factory=dict)
    """Weights that are part of an earlier one, by name: in a separate file, they are the same bytes."""

    @property
    def size_bytes(self) -> int:
        """Total size of all weights, parts not counted."""
        return sum(weight.nbytes for name, weight in self.weights.items() if name not in self.parts)

    def whole(self) -> onnx.ModelProto:
        """Return graph and weights as one message, of at most 2 GiB."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for name, weight in self.weights.items():
            _add(model, name, weight).raw_data = _bytes(weight)
        return model

    def with_weights_as_inputs(self, from_bytes: int) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
        """Return the graph with its large weights as inputs, and these as they are in memory, contiguous."""
        model, inputs = onnx.ModelProto(), {}
        model.CopyFrom(self.model)
        for name, weight in self.weights.items():
            if weight.nbytes < from_bytes:
                _add(model, name, weight).raw_data = _bytes(weight)
            else:
                inputs[name] = np.ascontiguousarray(weight)
                element_type = helper.np_dtype_to_tensor_dtype(weight.dtype)
                model.graph.input.append(helper.make_tensor_value_info(name, element_type, weight.shape))
        return model, inputs

    def save(self, path: Path, external_from_bytes: int) -> None:
        """Write to a file; if the weights are too large, or parts of each other, they go next to it to PATH's
        stem + .weights.

        Args:
            path: path of the graph.
            external_from_bytes: total size from which weights are too large.
        """
        if self.size_bytes < external_from_bytes and not self.parts:
            with path.open("wb") as file:
                file.write(self.model.SerializeToString())
                for name, weight in self.weights.items():
                    _write_inline(file, name, weight)
            return
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        weights_path = path.with_name(f"{path.stem}.weights")
        offsets: dict[str, int] = {}
        with weights_path.open("wb") as file:
            for name, weight in self.weights.items():
                tensor = _add(model, name, weight)
                if name in self.parts:
                    part = self.parts[name]
                    offset_bytes = offsets[part.weight] + part.first_row * weight[0].nbytes
                    _refer(tensor, weights_path.name, offset_bytes, weight.nbytes)
                elif weight.nbytes < INLINE_BYTES:
                    tensor.raw_data = _bytes(weight)
                else:
                    offsets[name] = _write_aligned(file, weight)
                    _refer(tensor, weights_path.name, offsets[name], weight.nbytes)
        onnx.save_model(model, str(path))


def _add(model: onnx.ModelProto, name: str, weight: NDArray[Any]) -> TensorProto:
    tensor: TensorProto = model.graph.initializer.add()
    tensor.name = name
    tensor.data_type = helper.np_dtype_to_tensor_dtype(weight.dtype)
    tensor.dims.extend(weight.shape)
    return tensor


def _write_inline(file: BinaryIO, name: str, weight: NDArray[Any]) -> None:
    """Write a weight as a part of the graph of a model."""
    content = _little_endian(weight)
    described = _add(onnx.ModelProto(), name, weight).SerializeToString()
    tensor = described + _field_start(TensorProto, "raw_data", content.nbytes)
    initializer = _field_start(onnx.GraphProto, "initializer", len(tensor) + content.nbytes)
    graph = _field_start(onnx.ModelProto, "graph", len(initializer) + len(tensor) + content.nbytes)
    file.write(graph + initializer + tensor)
    file.write(content.data.cast("B"))


def _field_start(
    message: type[onnx.ModelProto | onnx.GraphProto | TensorProto], name: str, size_bytes: int
) -> bytes:
    """Return what is before a field's content: its number and type, and its size, as base 128 varints."""
    number = message.DESCRIPTOR.fields_by_name[name].number
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(size_bytes)


def _varint(value: int) -> bytes:
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def _write_aligned(file: BinaryIO, weight: NDArray[Any]) -> int:
    """Write a weight at the next page, and return its offset in bytes."""
    offset_bytes = file.seek(-(-file.tell() // ALIGNMENT) * ALIGNMENT)
    file.write(_little_endian(weight).data.cast("B"))
    return offset_bytes


def _refer(tensor: TensorProto, location: str, offset_bytes: int, size_bytes: int) -> None:
    """Let a tensor's content be a part of another file."""
    entries = {"location": location, "offset": str(offset_bytes), "length": str(size_bytes)}
    for key, value in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    tensor.data_location = TensorProto.EXTERNAL


def _bytes(weight: NDArray[Any]) -> bytes:
    return _little_endian(weight).tobytes()


def _little_endian(weight: NDArray[Any]) -> NDArray[Any]:
    """Return the weight contiguous and little-endian, copied only if it is not."""
    return np.ascontiguousarray(weight.astype(weight.dtype.newbyteorder("<"), copy=False))
