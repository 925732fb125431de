"""K/V on a device: tiny graphs on the same provider move them, never through the host.

`python -m export.row_graphs` writes the graphs, which are committed next to this file and not part of
bundles. They use only Gather, Concat, Slice and Pad: `ScatterND` could write in place, but on CUDA a single
thread copies a whole row, while these divide it among thousands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding, OrtValue

from dragoman.contract import CacheDType
from dragoman.graphs.memory import Shape
from dragoman.graphs.session import DEVICE_ID, new_session
from dragoman.providers import SessionOptions

ROW_GRAPHS = ("zeros", "take", "fit", "join")
FOLDER = Path(__file__).with_name("rows")


class Device:
    """The provider's memory and the tiny graphs. Safe to use from several threads."""

    def __init__(self, options: SessionOptions, device_type: str, dtype: CacheDType) -> None:
        """Load the graphs of one dtype: float16 or float32."""
        if options.is_gpu:  # TensorRT would build an engine for each size
            options = replace(options, providers=("cuda",))
        self.type = device_type
        self.dtype = np.dtype(dtype)
        self._sessions = {name: new_session(FOLDER / f"{name}.{dtype}.onnx", options) for name in ROW_GRAPHS}

    def zeros(self, shape: Shape, dtype: CacheDType) -> "DeviceMemory":
        assert self.dtype == dtype, "the dtype must be the device's"  # noqa: S101 -- only a bug
        if not all(shape):
            return DeviceMemory(self, None, shape)
        return DeviceMemory(self, self.run("zeros", {}, {"shape": np.array(shape, np.int64)}), shape)

    def run(
        self, graph: str, values: Mapping[str, OrtValue], numbers: Mapping[str, NDArray[np.int64]]
    ) -> OrtValue:
        """Run a tiny graph and return its only output, on the device.

        Args:
            graph: one of ROW_GRAPHS.
            values: inputs on the device.
            numbers: small inputs on the host.
        """
        session = self._sessions[graph]
        binding = session.io_binding()
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name, array in numbers.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output("result", self.type, DEVICE_ID)
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        (result,) = binding.get_outputs()
        return result


class DeviceMemory:
    """An `OrtValue` on the device. Changes create a new one: a copy there costs less than a step."""

    def __init__(self, device: Device, value: OrtValue | None, shape: Shape) -> None:
        """Wrap `value`, which is None if and only if the shape has no elements."""
        self.shape = shape
        self.value = value
        self._device = device

    def resized(self, size: tuple[int, int], used: tuple[int, int]) -> Self:
        layers, _, heads, _, head_size = self.shape
        shape = (layers, size[0], heads, size[1], head_size)
        if self.value is None or not all(used):
            return self._new(self._device.zeros(shape, str(self._device.dtype)).value, shape)  # type: ignore[arg-type] # its own
        pads = np.array([0, 0, 0, 0, 0, 0, size[0] - used[0], 0, size[1] - used[1], 0])
        numbers = {"used": np.array(used), "pads": pads}
        return self._new(self._device.run("fit", {"memory": self.value}, numbers), shape)

    def move(self, rows: NDArray[np.int64], positions: int) -> Self:  # noqa: ARG002 -- a row is copied as a whole
        everything = np.arange(self.shape[1])
        if self.value is None or np.array_equal(rows, everything[: len(rows)]):
            return self
        everything[: len(rows)] = rows
        return self._new(self._device.run("take", {"memory": self.value}, {"rows": everything}), self.shape)

    def write(self, rows: NDArray[np.int64], source: Any, size: tuple[int, int], used: int) -> Self:
        """Gather all rows from the memory and the source; rows without content repeat the source's first."""
        joining = source if isinstance(source, OrtValue) else self._from_host(source)
        # onnxruntime binds nothing without elements: the source stands in for a memory without rows.
        memory = self.value if self.value is not None and used else joining
        first, num_joining = memory.shape()[1], joining.shape()[1]
        origins = np.full(size[0], first)
        origins[:used] = np.arange(used)
        origins[rows] = first + np.arange(num_joining).repeat(len(rows) // num_joining)
        columns = np.arange(size[1])  # beyond its width, each repeats its last position
        numbers = {
            "positions": np.minimum(columns, memory.shape()[3] - 1),
            "source_positions": np.minimum(columns, joining.shape()[3] - 1),
            "rows": origins,
        }
        layers, _, heads, _, head_size = self.shape
        joined = self._device.run("join", {"memory": memory, "source": joining}, numbers)
        return self._new(joined, (layers, size[0], heads, size[1], head_size))

    def bind(
        self, binding: IOBinding, ports: Sequence[tuple[str, str]], num_rows: int, row_shape: tuple[int, ...]
    ) -> object:
        """Bind by address: an `OrtValue` cannot be split, but each layer's rows are contiguous in it."""
        assert self.value is not None, "the memory must have rows"  # noqa: S101 -- only a bug
        device, dtype = self._device, self._device.dtype
        shape = (num_rows, *row_shape)
        address = self.value.data_ptr()
        layer_bytes = int(np.prod(self.shape[1:])) * dtype.itemsize
        for layer, (name, output) in enumerate(ports):
            if not name:
                continue
            address_arguments = (device.type, DEVICE_ID, dtype.type, shape, address + layer * layer_bytes)
            binding.bind_input(name, *address_arguments)
            if output:
                binding.bind_output(output, *address_arguments)
        return self

    def _from_host(self, array: NDArray[Any]) -> OrtValue:
        return OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array), self._device.type, DEVICE_ID)

    def _new(self, value: OrtValue | None, shape: Shape) -> Self:
        return type(self)(self._device, value, shape)
