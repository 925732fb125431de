"""Whether work grows in proportion to a text: counted, so that it depends on no clock."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

EXACTLY, ABOUT, CLEARLY_NOT = 2.05, 2.5, 3.0
AT_BEGINNING = 100
"""Work that does not depend on the size."""


def is_linear(count: Callable[[int], int], size: int) -> bool:
    """Return whether twice the size takes twice the work.

    A limit of a repetition, such as `{0,200}`, makes small sizes look quadratic: then larger ones decide.

    Args:
        count: returns the work for a size.
        size: the smallest.
    """
    for factor in (1, 5, 25):
        once, twice = count(factor * size), count(2 * factor * size)
        if twice <= EXACTLY * once + AT_BEGINNING:
            return True
        if factor > 1 and not ABOUT * once < twice < CLEARLY_NOT * once:
            return twice <= ABOUT * once
    return False


def count_calls(work: Callable[[], object]) -> int:
    """Return the number of calls of functions, of Python's and of C's."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def num_lines_run(work: Callable[[], object], folder: str) -> int:
    """Return the number of lines of a folder's modules that it runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        nonlocal count
        if not frame.f_code.co_filename.startswith(folder):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
