"""K/V and cells hold the same on a device as in numpy arrays, whatever happens to them."""

from typing import Any, get_args

import numpy as np
import onnx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray
from onnxruntime import OrtValue

from dragoman.contract import CELL_DTYPE, CacheDType, padded_width
from dragoman.graphs.attention import ATTENTION_GRAPH
from dragoman.graphs.caches import KEPT_CAPACITY, CellCaches, CrossCaches, SelfCaches
from dragoman.graphs.device import FOLDER, ROW_GRAPHS, Device, DeviceMemory
from dragoman.graphs.encoder import CrossKV
from dragoman.graphs.memory import CacheMemory, Host, HostMemory, MemoryMaker
from dragoman.graphs.session import new_session
from dragoman.providers import SessionOptions
from export import row_graphs

LAYERS, HEADS, HEAD_SIZE = 2, 2, 3
WIDTH = HEADS * HEAD_SIZE
LAYER_SHAPE = (LAYERS, HEADS, HEAD_SIZE)
OPTIONS = SessionOptions(keeps_memory_on_device=True)
DEVICES = {dtype: Device(OPTIONS, "cpu", dtype) for dtype in get_args(CacheDType) if dtype != "int8"}
dtypes = st.sampled_from(sorted(DEVICES))


def content(memory: CacheMemory) -> NDArray[Any]:
    if isinstance(memory, HostMemory):
        return memory.array
    assert isinstance(memory, DeviceMemory)
    if memory.value is None:
        return np.zeros(memory.shape, memory._device.dtype)
    array: NDArray[Any] = memory.value.numpy()
    return array


class SelfOfRunningRows(RuleBasedStateMachine):
    """Rows as they come, are extended, change places and go; self K/V of them here and there."""

    @initialize(dtype=dtypes)
    def begin(self, dtype: CacheDType) -> None:
        self.host = SelfCaches(Host(), LAYER_SHAPE, dtype)
        self.device = SelfCaches(DEVICES[dtype], LAYER_SHAPE, dtype)
        self.is_written = np.zeros((0, 0), np.bool_)  # [R, T]: of the rest, nothing is ever read
        self.rng = np.random.default_rng(1)

    @property
    def num_rows(self) -> int:
        return len(self.is_written)

    @property
    def positions(self) -> int:
        return self.is_written.shape[1]

    @rule(more=st.integers(1, 5))
    def join(self, more: int) -> None:
        used = (self.num_rows, self.positions)
        self.is_written = np.pad(self.is_written, ((0, more), (0, 0)))
        self.reserve(max(1, self.positions), used)

    @precondition(lambda self: self.num_rows)
    @rule(more=st.integers(1, 40))
    def extend(self, more: int) -> None:
        """Steps write into the memory, wherever it lies."""
        before = self.positions
        self.is_written = np.pad(self.is_written, ((0, 0), (0, more)), constant_values=True)
        self.reserve(self.positions, (self.num_rows, before))
        new = self.rng.standard_normal((LAYERS, self.num_rows, HEADS, more, HEAD_SIZE))
        for caches in (self.host, self.device):
            content(caches.memory)[:, : self.num_rows, :, before : self.positions] = new

    @precondition(lambda self: self.num_rows)
    @rule(data=st.data())
    def select(self, data: st.DataObject) -> None:
        """Rows from anywhere, some several times, and no more than before."""
        places = st.lists(st.integers(0, self.num_rows - 1), max_size=self.num_rows)
        rows = np.array(data.draw(places), np.int64)
        for caches in (self.host, self.device):
            caches.move(rows, self.positions)
        self.is_written = self.is_written[rows]
        if not self.num_rows:
            assert self.host.forget() == self.device.forget()
            self.is_written = np.zeros((0, 0), np.bool_)

    def reserve(self, positions: int, used: tuple[int, int]) -> None:
        has_moved = [caches.reserve(self.num_rows, positions, used) for caches in (self.host, self.device)]
        assert has_moved[0] == has_moved[1]

    @invariant()
    def rows_in_use_hold_the_same(self) -> None:
        here, there = (
            content(caches.memory).swapaxes(2, 3)[:, : self.num_rows, : self.positions][:, self.is_written]
            for caches in (self.host, self.device)
        )
        np.testing.assert_array_equal(here, there)

    @invariant()
    def there_is_room_for_as_many(self) -> None:
        assert self.host.memory.shape == self.device.memory.shape == content(self.device.memory).shape
        assert np.isfinite(content(self.device.memory)).all(), "nothing is left as the memory was found"


class CellsOfRunningRows(RuleBasedStateMachine):
    """Rows as they come, are extended, change places and go; their cells here, there, and in a plain list."""

    @initialize()
    def begin(self) -> None:
        self.both = [CellCaches(maker, LAYERS, WIDTH) for maker in (Host(), DEVICES[CELL_DTYPE])]
        self.expected = np.zeros((LAYERS, 0, WIDTH), np.float32)
        self.rng = np.random.default_rng(1)

    @rule(more=st.integers(1, 5))
    def join(self, more: int) -> None:
        """Whatever stood there before, new rows begin with zeros."""
        first = self.expected.shape[1]
        self.expected = np.concatenate([self.expected, np.zeros((LAYERS, more, WIDTH), np.float32)], axis=1)
        for cells in self.both:
            cells.reserve(first + more, 1, (first, 7))
            cells.begin(slice(first, first + more))

    @precondition(lambda self: self.expected.size)
    @rule()
    def extend(self) -> None:
        """Steps write into the memory, wherever it lies."""
        self.expected[:] = self.rng.standard_normal(self.expected.shape)
        for cells in self.both:
            assert not cells.reserve(self.expected.shape[1], 1000, (self.expected.shape[1], 999))
            content(cells.memory)[:, : self.expected.shape[1], 0, 0] = self.expected

    @precondition(lambda self: self.expected.size)
    @rule(data=st.data())
    def select(self, data: st.DataObject) -> None:
        """Rows from anywhere, some several times, and no more than before."""
        num_rows = self.expected.shape[1]
        rows = np.array(data.draw(st.lists(st.integers(0, num_rows - 1), max_size=num_rows)), np.int64)
        self.expected = self.expected[:, rows]
        for cells in self.both:
            cells.move(rows, 12)
            if not len(rows):
                cells.forget()

    @invariant()
    def rows_in_use_are_the_expected_ones(self) -> None:
        for cells in self.both:
            found = content(cells.memory)[:, : self.expected.shape[1], 0, 0]
            np.testing.assert_array_equal(found, self.expected)


class CrossOfRunningSources(RuleBasedStateMachine):
    """Sources as they come, change places and go; cross K/V of them here and there."""

    @initialize(dtype=dtypes)
    def begin(self, dtype: CacheDType) -> None:
        self.dtype = dtype
        self.host = CrossCaches(Host(), LAYER_SHAPE, dtype, 4)
        self.device = CrossCaches(DEVICES[dtype], LAYER_SHAPE, dtype, 4)
        self.rng = np.random.default_rng(2)

    @rule(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=4), is_there=st.booleans())
    def join(self, lengths: list[int], *, is_there: bool) -> None:
        """From an encoder that leaves them on the device, or from one that does not."""
        shape = (LAYERS, len(lengths), HEADS, padded_width(max(lengths)), HEAD_SIZE)
        new = self.rng.standard_normal(shape).astype(self.dtype)
        self.host.join(CrossKV(new, np.array(lengths)))
        there = OrtValue.ortvalue_from_numpy(new.copy()) if is_there else new
        assert self.device.join(CrossKV(there, np.array(lengths))), "a device's memory is never written to"

    @precondition(lambda self: self.host.num_entries)
    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        slots = data.draw(st.permutations(range(self.host.num_entries)))
        kept = np.array(slots[: data.draw(st.integers(0, len(slots)))], np.int64)
        for caches in (self.host, self.device):
            caches.keep(kept)

    @invariant()
    def sources_hold_the_same(self) -> None:
        used = slice(self.host.num_entries)
        here, there = content(self.host.memory), content(self.device.memory)
        np.testing.assert_array_equal(here[:, used], there[:, used])
        assert here.shape == there.shape == self.device.memory.shape

    @invariant()
    def graphs_get_the_same(self) -> None:
        here, there = self.host.inputs(), self.device.inputs()
        assert here.keys() == there.keys()
        for name, array in here.items():
            np.testing.assert_array_equal(array, there[name])


TestSelfOfRunningRows = SelfOfRunningRows.TestCase
TestCellsOfRunningRows = CellsOfRunningRows.TestCase
TestCrossOfRunningSources = CrossOfRunningSources.TestCase
for case in (TestSelfOfRunningRows, TestCellsOfRunningRows, TestCrossOfRunningSources):
    case.settings = settings(max_examples=60, stateful_step_count=15)
del case  # else the last one would run twice


@pytest.mark.parametrize("dtype", sorted(DEVICES))
@pytest.mark.parametrize("first", [0, 2])
def test_copies_of_a_row_lie_side_by_side(dtype: CacheDType, first: int) -> None:
    rng = np.random.default_rng(3)
    old = rng.standard_normal((LAYERS, first, HEADS, 4, HEAD_SIZE)).astype(dtype)
    new = rng.standard_normal((LAYERS, 2, HEADS, 3, HEAD_SIZE)).astype(dtype)

    for maker in (Host(), DEVICES[dtype]):
        memory = maker.zeros((LAYERS, first + 7, HEADS, 4, HEAD_SIZE), dtype)
        found = content(memory.write(0, old, 1).write(first, new, 3) if first else memory.write(0, new, 3))

        np.testing.assert_array_equal(found[:, :first], old)
        np.testing.assert_array_equal(found[:, first : first + 6, :, :3], new.repeat(3, axis=1))
        assert not found[:, first:, :, 3:].any()


@pytest.mark.parametrize("maker", [Host(), DEVICES["float32"]])
def test_memory_that_one_long_target_needed_is_released_when_all_rows_have_left(maker: MemoryMaker) -> None:
    caches = SelfCaches(maker, LAYER_SHAPE, "float32")
    for positions, is_released in ((KEPT_CAPACITY, False), (KEPT_CAPACITY + 1, True)):
        caches.reserve(2, positions, (0, 0))

        assert caches.forget() is is_released
        assert (caches.positions == KEPT_CAPACITY) is not is_released


@pytest.mark.parametrize(
    ("name", "dtype", "made"),
    [
        *((name, dtype, row_graphs.make(name, dtype)) for name in ROW_GRAPHS for dtype in sorted(DEVICES)),
        *((ATTENTION_GRAPH, dtype, row_graphs.make_attention(dtype)) for dtype in get_args(CacheDType)),
    ],
)
def test_the_graphs_shipped_are_those_that_the_script_writes(
    name: str, dtype: str, made: onnx.ModelProto
) -> None:
    onnx.checker.check_model(made, full_check=True)
    assert onnx.load(FOLDER / f"{name}.{dtype}.onnx") == made


def test_memory_without_an_input_is_not_bound() -> None:
    """Of a layer's key and value, the key alone."""
    session = new_session(FOLDER / "attention.float32.onnx", SessionOptions())
    for maker in (Host(), DEVICES["float32"]):
        memory = maker.zeros((2, 3, HEADS, 8, HEAD_SIZE), "float32")
        binding = session.io_binding()
        kept = memory.bind(binding, [("keys", ""), ("", "")], 3, memory.shape[2:])
        binding.bind_cpu_input("queries", np.ones((3, 1, HEADS * HEAD_SIZE), np.float32))
        binding.bind_cpu_input("source_ends", np.array([0, 1, 7], np.int32))
        binding.bind_cpu_input("heads", np.array([0], np.int64))
        binding.bind_output("attention")
        session.run_with_iobinding(binding)

        (found,) = binding.copy_outputs_to_cpu()
        np.testing.assert_array_equal(found[:, 0], np.array([1.0, 0.5, 0.125], np.float32))
        assert kept is not None
