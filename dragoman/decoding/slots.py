"""Slots of the sources in a batch, and the arrays of their state."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")
"""A dataclass of arrays with one entry per slot along the first axis."""


def close_gaps(is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Close the gaps that leaving sources leave, moving as few of the others as possible.

    Args:
        is_leaving: bool [B], per slot.

    Returns:
        int64 [B'], the old slot of each new one. A slot whose source stays keeps its number; the other new
        slots take sources from the end.
    """
    num_staying = int(np.count_nonzero(~is_leaving))
    slots = np.arange(num_staying, dtype=np.int64)
    slots[is_leaving[:num_staying]] = num_staying + np.flatnonzero(~is_leaving[num_staying:])
    return slots


def rows_of(slots: NDArray[np.int64], beam_size: int) -> NDArray[np.int64]:
    """Return all rows of some sources: int64 [B'] -> int64 [B' * beam_size]."""
    return (slots[:, None] * beam_size + np.arange(beam_size)).ravel()


def keep_slots(state: State, slots: NDArray[np.int64]) -> State:
    """Return the state of some slots, in this order."""
    arrays = {field.name: getattr(state, field.name)[slots] for field in fields(state)}  # type: ignore[arg-type] # any dataclass
    return type(state)(**arrays)


def add_slots(state: State, new: State) -> State:
    """Append new slots to a state; pad arrays that are narrower along another axis with zeros."""
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
