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
from tests.examples import share_of

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


def places_to_join(data: st.DataObject, num_used: int) -> NDArray[np.int64]:
    """Some of those in use, whose sources have left, then new ones after all others; at least one."""
    reused = data.draw(st.sets(st.integers(0, num_used - 1), max_size=4)) if num_used else set()
    more = data.draw(st.integers(0 if reused else 1, 5))
    return np.array([*sorted(reused), *range(num_used, num_used + more)], np.int64)


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

    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        used = (self.num_rows, self.positions)
        rows = places_to_join(data, self.num_rows)
        has_moved = [caches.begin(rows, used) for caches in (self.host, self.device)]
        assert has_moved[0] == has_moved[1]
        is_written = np.zeros((max(self.num_rows, int(rows[-1]) + 1), self.positions), np.bool_)
        is_written[: self.num_rows] = self.is_written
        is_written[rows] = False
        self.is_written = is_written

    @precondition(lambda self: self.num_rows)
    @rule(more=st.integers(1, 40))
    def extend(self, more: int) -> None:
        """Steps write into the memory, wherever it lies."""
        before = self.positions
        self.is_written = np.pad(self.is_written, ((0, 0), (0, more)), constant_values=True)
        has_moved = [
            caches.reserve(self.positions, (self.num_rows, before)) for caches in (self.host, self.device)
        ]
        assert has_moved[0] == has_moved[1]
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

    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        """Whatever stood there before, new rows begin with zeros."""
        used = self.expected.shape[1]
        rows = places_to_join(data, used)
        more = max(used, int(rows[-1]) + 1) - used
        self.expected = np.concatenate([self.expected, np.zeros((LAYERS, more, WIDTH), np.float32)], axis=1)
        self.expected[:, rows] = 0
        for cells in self.both:
            cells.begin(rows, (used, 7))

    @precondition(lambda self: self.expected.size)
    @rule()
    def extend(self) -> None:
        """Steps write into the memory, wherever it lies."""
        self.expected[:] = self.rng.standard_normal(self.expected.shape)
        for cells in self.both:
            assert not cells.reserve(1000, (self.expected.shape[1], 999))
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

    @rule(data=st.data(), is_there=st.booleans())
    def join(self, data: st.DataObject, *, is_there: bool) -> None:
        """From an encoder that leaves them on the device, or from one that does not."""
        slots = places_to_join(data, self.host.num_entries)
        lengths = np.array([data.draw(st.integers(1, 60)) for _ in slots])
        shape = (LAYERS, len(lengths), HEADS, padded_width(max(lengths)), HEAD_SIZE)
        new = self.rng.standard_normal(shape).astype(self.dtype)
        self.host.join(CrossKV(new, lengths), slots)
        there = OrtValue.ortvalue_from_numpy(new.copy()) if is_there else new
        assert self.device.join(CrossKV(there, lengths), slots), "a device's memory is never written to"

    @precondition(lambda self: self.host.num_entries)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """Their slots stay, without a source that needs any width."""
        slots = np.array(sorted(data.draw(st.sets(st.integers(0, self.host.num_entries - 1)))), np.int64)
        for caches in (self.host, self.device):
            caches.release(slots)

    @precondition(lambda self: self.host.num_entries)
    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        slots = data.draw(st.permutations(range(self.host.num_entries)))
        kept = np.array(slots[: data.draw(st.integers(0, len(slots)))], np.int64)
        for caches in (self.host, self.device):
            caches.keep(kept)

    @invariant()
    def sources_hold_the_same(self) -> None:
        here, there = content(self.host.memory), content(self.device.memory)
        is_token = self.host.inputs()["source_mask"] != 0
        used, used_there = (each.swapaxes(2, 3)[:, : len(is_token)][:, is_token] for each in (here, there))
        np.testing.assert_array_equal(used, used_there)
        assert here.shape == there.shape == self.device.memory.shape
        assert np.isfinite(there).all(), "a mask would not hide it"

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
    case.settings = share_of(settings(max_examples=60, stateful_step_count=15))
del case  # else the last one would run twice


@pytest.mark.parametrize("dtype", sorted(DEVICES))
@pytest.mark.parametrize("first", [0, 2])
def test_copies_of_a_row_lie_side_by_side(dtype: CacheDType, first: int) -> None:
    rng = np.random.default_rng(3)
    old = rng.standard_normal((LAYERS, 2, HEADS, 4, HEAD_SIZE)).astype(dtype)
    new = rng.standard_normal((LAYERS, 2, HEADS, 3, HEAD_SIZE)).astype(dtype)
    rows = np.arange(first, first + 6)

    for maker in (Host(), DEVICES[dtype]):
        memory = maker.zeros((LAYERS, 0, HEADS, 4, HEAD_SIZE), dtype).write(np.arange(2), old, (2, 4), 0)
        found = content(memory.write(rows, new, (first + 7, 4), 2))

        assert found.shape == (LAYERS, first + 7, HEADS, 4, HEAD_SIZE)
        np.testing.assert_array_equal(found[:, :first], old[:, :first])
        np.testing.assert_array_equal(found[:, rows, :, :3], new.repeat(3, axis=1))


@pytest.mark.parametrize("maker", [Host(), DEVICES["float32"]])
def test_copies_of_rows_may_lie_apart(maker: MemoryMaker) -> None:
    new = np.arange(LAYERS * 2 * HEADS * HEAD_SIZE, dtype=np.float32).reshape(LAYERS, 2, HEADS, 1, HEAD_SIZE)
    memory = maker.zeros((LAYERS, 6, HEADS, 1, HEAD_SIZE), "float32")

    found = content(memory.write(np.array([0, 1, 4, 5]), new, (6, 1), 6))

    np.testing.assert_array_equal(found[:, [0, 1, 4, 5]], new.repeat(2, axis=1))
    assert not found[:, 2:4].any()


@pytest.mark.parametrize("maker", [Host(), DEVICES["float32"]])
def test_a_source_that_has_left_needs_no_width(maker: MemoryMaker) -> None:
    caches = CrossCaches(maker, LAYER_SHAPE, "float32", 1)
    caches.join(
        CrossKV(np.ones((LAYERS, 2, HEADS, 64, HEAD_SIZE), np.float32), np.array([60, 5])), np.arange(2)
    )
    caches.release(np.array([0]))

    caches.join(CrossKV(np.ones((LAYERS, 1, HEADS, 8, HEAD_SIZE), np.float32), np.array([7])), np.array([2]))

    assert caches.width == 8


@pytest.mark.parametrize("maker", [Host(), DEVICES["float32"]])
def test_memory_that_one_long_target_needed_is_released_when_all_rows_have_left(maker: MemoryMaker) -> None:
    caches = SelfCaches(maker, LAYER_SHAPE, "float32")
    for positions, is_released in ((KEPT_CAPACITY, False), (KEPT_CAPACITY + 1, True)):
        caches.begin(np.arange(2), (0, 0))
        caches.reserve(positions, (0, 0))

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
