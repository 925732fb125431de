"""Memory that loading took is put in order; other memory is left alone."""

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.graphs.process_memory import HUGE_PAGE_BYTES, _new_ranges, compacted_memory

Cuts = st.lists(st.integers(0, 60), unique=True).map(sorted)


def ranges_of(cuts: list[int]) -> list[range]:
    return [range(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=False)]


@given(Cuts, Cuts)
def test_added_is_what_is_there_now_and_was_not_before(now: list[int], before: list[int]) -> None:
    there = {address for present in ranges_of(now) for address in present}
    gone = {address for past in ranges_of(before) for address in past}

    found = [address for part in _new_ranges(ranges_of(now), ranges_of(before)) for address in part]

    assert found == sorted(there - gone)


def test_compacting_keeps_the_content_of_memory() -> None:
    random = np.random.default_rng(3).integers(0, 256, 3 * HUGE_PAGE_BYTES, np.uint8)

    with compacted_memory():
        copy = random.copy()

    np.testing.assert_array_equal(copy, random)


def test_an_error_inside_is_the_callers() -> None:
    with pytest.raises(ValueError, match="not a graph"), compacted_memory():
        raise ValueError("not a graph")


def huge_pages_allowed() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.is_file() and "[never]" not in setting.read_text(encoding="ascii")


def huge_bytes(address: int) -> int:
    """Of the mapping that an address is in, as Linux counts them."""
    is_inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii", errors="replace").splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            start, stop = (int(part, 16) for part in first.split("-"))
            is_inside = start <= address < stop
        elif is_inside and first == "AnonHugePages:":
            return int(line.split()[1]) * 1024
    return 0


@pytest.mark.skipif(
    sys.platform != "linux" or not huge_pages_allowed(), reason="the system gives no huge pages"
)
def test_new_memory_is_in_huge_pages_and_old_memory_as_it_was() -> None:
    old = mmap.mmap(-1, 4 * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    old[:] = b"\1" * len(old)
    before = huge_bytes(np.frombuffer(old, np.uint8).ctypes.data)

    with compacted_memory():
        new = mmap.mmap(-1, 8 * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        new[:] = b"\2" * len(new)

    assert huge_bytes(np.frombuffer(new, np.uint8).ctypes.data) - before >= 4 * HUGE_PAGE_BYTES
    assert new[:] == b"\2" * len(new)
