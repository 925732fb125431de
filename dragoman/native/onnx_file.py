"""Reads an ONNX graph: its nodes and weights, without onnxruntime.

Only what a graph of a bundle consists of: the fields of onnx.proto that name nodes, their attributes, and
weights as raw little-endian bytes. The file stays mapped, and weights are views of it. A graph may be in
several parts, which protobuf joins: each weight can be one.
"""

import math
import mmap
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ELEMENT_TYPES = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
}
"""numpy's types by ONNX's numbers."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Kinds of fields in protobuf's encoding."""
_MAX_VARINT_BYTES = 10
_MAX_DEPTH = 8
"""Graphs in graphs; bundles have three."""
_MAX_DIMS = 8
_CONTINUES = 0x80
"""Bit of a byte of a variable-length integer: another one follows."""


class _Graphs(IntEnum):
    """Numbers of fields in onnx.proto, by message."""

    OF_MODEL = 7
    NODE = 1
    INITIALIZER = 5


class _Nodes(IntEnum):
    INPUT = 1
    OUTPUT = 2
    OPERATOR = 4
    ATTRIBUTE = 5


class _Attributes(IntEnum):
    NAME = 1
    FLOAT = 2
    INT = 3
    TEXT = 4
    TENSOR = 5
    GRAPH = 6


class _Tensors(IntEnum):
    DIMS = 1
    ELEMENT_TYPE = 2
    NAME = 8
    RAW_DATA = 9
    EXTERNAL_DATA = 13
    DATA_LOCATION = 14


class OnnxFileError(ValueError):
    """The file is not an ONNX graph as bundles have it."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator, its inputs and outputs by name."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    numbers: dict[str, float]
    """Attributes that are a number."""
    texts: dict[str, str]
    branches: dict[str, "Graph"]
    """Attributes that are a graph."""


@dataclass(slots=True)
class Graph:
    """Nodes in an order in which they can run, and weights by name."""

    nodes: list[Node] = field(default_factory=list)
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)


def read_graph(path: Path) -> Graph:
    """Map a file and read its graph.

    Raises:
        OnnxFileError: the file is damaged, or has what no graph of a bundle has.
    """
    try:
        parts = _collected(_mapped(path))[_Graphs.OF_MODEL]
        return _graph(parts, path.parent, _MAX_DEPTH)
    except (KeyError, IndexError, OSError, OverflowError, struct.error, ValueError) as error:
        raise OnnxFileError(f"{path.name} cannot be read: {error}") from error


def external_files(path: Path) -> set[str]:
    """Return the names of the files that have weights of a graph.

    Raises:
        OnnxFileError: the file is damaged.
    """
    try:
        return set(_locations(_collected(_mapped(path))[_Graphs.OF_MODEL], _MAX_DEPTH))
    except (KeyError, IndexError, OSError, OverflowError, ValueError) as error:
        raise OnnxFileError(f"{path.name} cannot be read: {error}") from error


def _locations(parts: Sequence[int | memoryview], depth: int) -> Iterator[str]:
    if not depth:
        raise OnnxFileError("there are too many graphs in each other")
    graph = _collected(*map(_bytes, parts))
    attributes = [
        _collected(_bytes(attribute))
        for node in graph[_Graphs.NODE]
        for attribute in _collected(_bytes(node))[_Nodes.ATTRIBUTE]
    ]
    tensors = [*graph[_Graphs.INITIALIZER]]
    for attribute in attributes:
        tensors += attribute[_Attributes.TENSOR]
        if attribute[_Attributes.GRAPH]:
            yield from _locations(attribute[_Attributes.GRAPH], depth - 1)
    for tensor in tensors:
        if pairs := _collected(_bytes(tensor))[_Tensors.EXTERNAL_DATA]:
            yield _external_entries(pairs)["location"]


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _graph(parts: Sequence[int | memoryview], folder: Path, depth: int) -> Graph:
    if not depth:
        raise OnnxFileError("there are too many graphs in each other")
    fields = _collected(*map(_bytes, parts))
    nodes = [_node(_bytes(node), folder, depth) for node in fields[_Graphs.NODE]]
    return Graph(nodes, dict(_weight(_bytes(weight), folder) for weight in fields[_Graphs.INITIALIZER]))


def _node(content: memoryview, folder: Path, depth: int) -> Node:
    fields = _collected(content)
    (operator,) = map(_text, fields[_Nodes.OPERATOR])
    inputs, outputs = (tuple(map(_text, fields[number])) for number in (_Nodes.INPUT, _Nodes.OUTPUT))
    node = Node(operator, inputs, outputs, {}, {}, {})
    for attribute in fields[_Nodes.ATTRIBUTE]:
        _add_attribute(node, _collected(_bytes(attribute)), folder, depth)
    return node


def _add_attribute(node: Node, fields: "_Collected", folder: Path, depth: int) -> None:
    name = _text(fields[_Attributes.NAME][0])
    for value in fields[_Attributes.FLOAT]:
        node.numbers[name] = float(struct.unpack("<f", _bytes(value))[0])
    for value in fields[_Attributes.INT]:
        node.numbers[name] = _signed(_int(value))
    for value in fields[_Attributes.TEXT]:
        node.texts[name] = _text(value)
    if fields[_Attributes.GRAPH]:
        node.branches[name] = _graph(fields[_Attributes.GRAPH], folder, depth - 1)


def _weight(content: memoryview, folder: Path) -> tuple[str, NDArray[Any]]:
    fields = _collected(content)
    name = _text(fields[_Tensors.NAME][0])
    if unknown := fields.keys() - set(_Tensors):
        raise OnnxFileError(f"weight {name}: field {min(unknown)} of a tensor is unknown")
    shape = [size for value in fields[_Tensors.DIMS] for size in _ints(value)]
    if len(shape) > _MAX_DIMS:
        raise OnnxFileError(f"weight {name} has {len(shape)} dimensions, more than {_MAX_DIMS}")
    element_type = _int(fields[_Tensors.ELEMENT_TYPE][0])
    if element_type not in ELEMENT_TYPES:
        raise OnnxFileError(f"weight {name}: element type {element_type} is unknown")
    dtype = np.dtype(ELEMENT_TYPES[element_type]).newbyteorder("<")
    if fields[_Tensors.EXTERNAL_DATA]:
        raw = _external(_external_entries(fields[_Tensors.EXTERNAL_DATA]), folder)
    else:
        (raw,) = map(_bytes, fields[_Tensors.RAW_DATA])
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise OnnxFileError(f"weight {name}: {len(raw)} bytes are not {shape} of {dtype}")
    return name, np.frombuffer(raw, dtype).reshape(shape)


def _external_entries(pairs: Sequence[int | memoryview]) -> dict[str, str]:
    """Return where the bytes of a weight are."""
    entries = (_collected(_bytes(pair)) for pair in pairs)  # StringStringEntryProto
    return {_text(entry[1][0]): _text(entry[2][0]) for entry in entries}


def _external(entries: Mapping[str, str], folder: Path) -> memoryview:
    """Return a weight's bytes from the file next to the graph where they are."""
    name = entries["location"]
    if Path(name).name != name or not name:
        raise OnnxFileError(f"weights are in {name!r}, which is not a file next to the graph")
    first, size = int(entries.get("offset", "0")), int(entries["length"])
    content = _mapped(folder / name)
    if not 0 <= first <= first + size <= len(content):
        raise OnnxFileError(f"{name} ends before byte {first + size}")
    return content[first : first + size]


_Collected = defaultdict[int, list[int | memoryview]]


def _collected(*parts: memoryview) -> _Collected:
    """Return the values of a message's fields by number, in their order."""
    values: _Collected = defaultdict(list)
    for part in parts:
        for number, value in _fields(part):
            values[number].append(value)
    return values


def _fields(content: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field of a protobuf message; fixed sizes as bytes."""
    offset = 0
    while offset < len(content):
        key, offset = _varint(content, offset)
        kind = key & 7
        if kind == _VARINT:
            value, offset = _varint(content, offset)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, offset = _varint(content, offset)
        elif kind in {_FIXED32, _FIXED64}:
            size = 4 if kind == _FIXED32 else 8
        else:
            raise OnnxFileError(f"wire type {kind} is unknown")
        if size > len(content) - offset:
            raise OnnxFileError("a field ends after its message")
        yield key >> 3, content[offset : offset + size]
        offset += size


def _varint(content: memoryview, offset: int) -> tuple[int, int]:
    """Return an integer of variable length and the position after it."""
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = content[offset + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < _CONTINUES:
            return value, offset + index + 1
    raise OnnxFileError("an integer is too long")


def _ints(value: int | memoryview) -> Iterator[int]:
    """Yield the numbers of a repeated field: one, or several packed together."""
    if isinstance(value, int):
        yield value
        return
    offset = 0
    while offset < len(value):
        number, offset = _varint(value, offset)
        yield number


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _int(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise OnnxFileError("a field is bytes, and should be a number")
    return value


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise OnnxFileError("a field is a number, and should be bytes")
    return value


def _text(value: int | memoryview) -> str:
    return str(_bytes(value), "utf-8")
