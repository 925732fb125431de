"""Whether work grows in proportion to a text: counted, so that it depends on no clock."""

import gc
import sys
from collections.abc import Callable

EXACTLY, ABOUT, CLEARLY_NOT = 2.05, 2.5, 3.0
AT_BEGINNING = 100
"""Work that does not depend on the size."""
SIZE = 50


def is_linear(work: Callable[[int], object], size: int = SIZE) -> bool:
    """Return whether work of twice the size makes twice the calls of functions.

    Args:
        work: is done for a size; what it only does the first time does not count.
        size: the smallest.
    """
    work(size)
    return has_linear_count(lambda size: count_calls(lambda: work(size)), size)


def has_linear_count(count: Callable[[int], int], size: int) -> bool:
    """Return whether twice the size has twice the count.

    A limit of a repetition, such as `{0,200}`, makes small sizes look quadratic: then larger ones decide.

    Args:
        count: returns the count for a size.
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
    """Return the number of calls of functions, of Python's and of C's, without those of the collector."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    gc.disable()  # what it collects may call functions, too
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
