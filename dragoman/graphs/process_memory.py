"""Cleanup of process memory after loading: free memory is returned, the rest moves into huge pages.

A decoder step of few rows takes as long as reading the weights, and with pages of 4 KiB a good part of that
is address translation. Works on Linux only, the first part with the GNU C library only; does nothing
elsewhere.
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HUGE_PAGE_BYTES = 2**21
MADV_COLLAPSE = 25
"""Move memory into huge pages now (Linux 6.1 and later). Fails if an administrator forbids them."""
PROCESS_MAP = Path("/proc/self/maps")
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0 *(?:\[heap\])?$")


@contextmanager
def compacted_memory() -> Iterator[None]:
    """Compact the memory that was allocated in the block when it ends; leave older memory alone."""
    before = _anonymous_ranges()
    yield
    give_back_free_memory()
    for new in _new_ranges(_anonymous_ranges(), before):
        _collapse(new)


def _anonymous_ranges() -> list[range]:
    """Return ascending address ranges of memory without a file; empty if the system does not report them."""
    if not PROCESS_MAP.is_file():
        return []
    matches = map(ANONYMOUS.match, PROCESS_MAP.read_text(encoding="ascii", errors="replace").splitlines())
    return [range(int(match[1], 16), int(match[2], 16)) for match in matches if match]


def _new_ranges(now: list[range], before: list[range]) -> Iterator[range]:
    """Yield the parts of `now` that are not in `before`; both ascend."""
    for present in now:
        start = present.start
        for past in before:
            if past.stop <= start or past.start >= present.stop:
                continue
            if past.start > start:
                yield range(start, past.start)
            start = past.stop
        if start < present.stop:
            yield range(start, present.stop)


def c_function(name: str) -> Any:
    """Return a function of the process's C library; None if it has none, or is hidden as on Windows."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):
        return None


def give_back_free_memory() -> None:
    """Return freed memory to the system. The C library would keep it: twice a model's size after loading."""
    trim = c_function("malloc_trim")
    if trim is not None:
        trim(0)


def _collapse(addresses: range) -> None:
    """Move a range into huge pages; ignore failures, which only make reading slower."""
    start = -(-addresses.start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    stop = addresses.stop // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
    advise = c_function("madvise")
    if stop > start and advise is not None:
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        advise(start, stop - start, MADV_COLLAPSE)
