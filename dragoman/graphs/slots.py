"""Slots of the sources on a device, where nothing moves when sources leave.

On a GPU a call that moves rows takes about as long as a step, whatever their number, and a step of a few
hundred rows as long as one of a few. So the slots of sources that have left stay, and the rows in them are
computed although nobody reads them, until others join there.

Shapes: B sources, R rows (B x beam_size), K candidates, W wanted tokens.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.lanes import AnyStepper
from dragoman.decoding.slots import rows_of
from dragoman.graphs.encoder import CrossKV

ROWS_AT_ONE_COST = 256
"""Rows below which a step gets no faster: one of 256 took as long as one of 32 on an H200."""

Ids = NDArray[np.int64]


class SlotStepper(AnyStepper[CrossKV], Protocol):
    """A stepper whose slots need not all hold a source: `DecoderSteps`."""

    def join(self, encoded: CrossKV, slots: Ids | None = None) -> None:
        """Begin sources in ascending slots, None for those after all others."""
        ...

    def release(self, slots: Ids) -> None:
        """Keep the rows of these slots at their beginning, and of no others: no source uses them."""
        ...


class SlottedSteps:
    """A stepper that moves the rows of another one only when many of them are unused."""

    def __init__(self, steps: SlotStepper, beam_size: int) -> None:
        self._steps = steps
        self._beam_size = beam_size
        self._use(np.arange(0), 0)

    def join(self, encoded: CrossKV) -> None:
        """Begin sources, in unused slots first."""
        num_slots, more = self._num_slots, encoded.num_sources
        slots = np.concatenate([self._unused, np.arange(num_slots, num_slots + more)])[:more]
        self._steps.join(encoded, slots)
        self._use(np.concatenate([self._slots, slots]), max(num_slots, int(slots[-1]) + 1))

    def step(self, last_ids: Ids, num_best: int) -> tuple[NDArray[np.float32], Ids]:
        logprobs, ids = self._steps.step(self._spread(last_ids), num_best)
        return logprobs[self._rows], ids[self._rows]

    def step_with(self, last_ids: Ids, num_best: int, wanted_ids: Ids) -> tuple[NDArray[np.float32], Ids]:
        logprobs, ids = self._steps.step_with(self._spread(last_ids), num_best, self._spread(wanted_ids))
        return logprobs[self._rows], ids[self._rows]

    def read(
        self, last_ids: Ids, wanted_ids: Ids | None
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32]]:
        wanted = None if wanted_ids is None else self._spread(wanted_ids)
        logprobs, attention = self._steps.read(self._spread(last_ids), wanted)
        return None if logprobs is None else logprobs[self._rows], attention[self._rows]

    def select(self, rows: Ids) -> None:
        """Move rows within their sources' slots; close the gaps if at most half of many slots are used."""
        sources = rows[:: self._beam_size] // self._beam_size
        is_sparse = 2 * len(sources) <= self._num_slots
        if not len(sources) or (is_sparse and self._num_slots * self._beam_size > ROWS_AT_ONE_COST):
            self._steps.select(self._rows[rows])
            self._use(np.arange(len(sources)), len(sources))
            return
        slots = self._slots[sources]
        everything = np.arange(self._num_slots * self._beam_size)
        everything[rows_of(slots, self._beam_size)] = self._rows[rows]
        self._steps.select(everything)
        if len(sources) < len(self._slots):
            self._use(slots, self._num_slots)

    def _use(self, slots: Ids, num_slots: int) -> None:
        """Let source i use slots[i] of so many."""
        self._slots, self._num_slots = slots, num_slots
        self._rows = rows_of(slots, self._beam_size)  # the row of each of the sources' rows
        self._unused = np.setdiff1d(np.arange(num_slots), slots)
        self._steps.release(self._unused)

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put the values of the sources' rows where the rows are; unused rows get zeros."""
        spread = np.zeros((self._num_slots * self._beam_size, *values.shape[1:]), values.dtype)
        spread[self._rows] = values
        return spread
