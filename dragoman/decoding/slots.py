"""Where the sources searched for sit in the batch, and their state beside them."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")
"""A dataclass of arrays that have one entry per slot along their first axis."""


def fill_holes(is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Close up after sources have left, moving as few of the others as possible.

    Args:
        is_leaving: bool [B], per slot.

    Returns:
        int64 [B'], the old slot of each new one: slot i stays slot i, unless its source has left; then a
        source from the end fills it.
    """
    num_staying = int(np.count_nonzero(~is_leaving))
    slots = np.arange(num_staying, dtype=np.int64)
    slots[is_leaving[:num_staying]] = num_staying + np.flatnonzero(~is_leaving[num_staying:])
    return slots


def rows_of(slots: NDArray[np.int64], beam_size: int) -> NDArray[np.int64]:
    """The rows of whole sources: int64 [B'] -> int64 [B' * beam_size]."""
    return (slots[:, None] * beam_size + np.arange(beam_size)).ravel()


def keep_slots(state: State, slots: NDArray[np.int64]) -> State:
    """The state of some slots, in this order."""
    arrays = {field.name: getattr(state, field.name)[slots] for field in fields(state)}  # type: ignore[arg-type] # any dataclass
    return type(state)(**arrays)


def add_slots(state: State, new: State) -> State:
    """State with new slots at the end; arrays narrower along another axis are filled up with zeros."""
    arrays = {
        field.name: _stack(getattr(state, field.name), getattr(new, field.name))
        for field in fields(state)  # type: ignore[arg-type] # any dataclass
    }
    return type(state)(**arrays)


def _stack(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    if not len(first):
        return second
    shape = np.maximum(first.shape, second.shape)
    shape[0] = len(first) + len(second)
    stacked = np.zeros(shape, first.dtype)
    stacked[tuple(map(slice, first.shape))] = first
    stacked[(slice(len(first), None), *map(slice, second.shape[1:]))] = second
    return stacked
