"""The encoder and the decoder steps of a bundle, on the kernels: what `dragoman.graphs` has on onnxruntime.

Shapes: B sources, R rows (B x beams, the beams of a source adjacent), K candidates, S source tokens.
"""

from collections.abc import Sequence
from ctypes import Array, byref, c_void_p
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.native.library import LibraryObject, StepRequest, check
from dragoman.native.model import NativeModel
from dragoman.types import SearchKind

Ids = NDArray[np.int64]


@dataclass(slots=True)
class EncodedSources:
    """Sources in the order in which they were encoded."""

    sources: list[LibraryObject]
    """Cross K/V and candidates of each, in the library."""
    lengths: list[int]

    @property
    def num_sources(self) -> int:
        return len(self.sources)


def pointers_of(encoded: EncodedSources) -> Array[c_void_p]:
    """Return the library's pointers to sources."""
    return (c_void_p * encoded.num_sources)(*(source.pointer for source in encoded.sources))


class NativeEncoder:
    """The encoder. Safe to use from several threads."""

    def __init__(self, model: NativeModel) -> None:
        self._model = model

    def run(self, sources: Sequence[Sequence[int]]) -> EncodedSources:
        """Encode sources together, without padding, and select their candidates if the model has a shortlist.

        Args:
            sources: B lists of ids, each ending in the end-of-sentence id.
        """
        model = self._model
        lengths = np.array([len(source) for source in sources], np.int32)
        ids = np.array([id_ for source in sources for id_ in source], np.int64)
        pointers = (c_void_p * len(sources))()
        check(
            model.library.dragoman_encode(
                model.pointer, ids.ctypes.data, lengths.ctypes.data, len(sources), pointers
            )
        )
        free = model.library.dragoman_release
        return EncodedSources([LibraryObject(pointer, free) for pointer in pointers], lengths.tolist())


class NativeSteps:
    """The running state of a search: its `Stepper`. Use from one thread, and not after an error."""

    def __init__(self, model: NativeModel, kind: SearchKind) -> None:
        self._model = model
        self._beam_size = kind.beam_size
        self._lengths: list[int] = []  # of each source
        self._num_rows = 0
        pointer = c_void_p()
        check(
            model.library.dragoman_new_steps(
                model.pointer, kind.beam_size, kind.is_shortlisted, byref(pointer)
            )
        )
        self._pointer = LibraryObject(pointer, model.library.dragoman_free_steps)
        self._shape = (-1, -1)
        self._request = StepRequest()
        self._logprobs = np.empty((0, 0), np.float32)
        self._ids = np.empty((0, 0), np.int64)

    def join(self, cross: EncodedSources) -> None:
        """Append sources: `beam_size` rows each, after all others."""
        check(self._model.library.dragoman_join(self._pointer, pointers_of(cross), cross.num_sources))
        self._lengths += cross.lengths
        self._num_rows += cross.num_sources * self._beam_size

    def step(self, last_ids: Ids, num_best: int) -> tuple[NDArray[np.float32], Ids]:
        """Extend every row by one token; see `DecoderSteps.step`."""
        return self.step_with(last_ids, num_best, np.empty((self._num_rows, 0), np.int64))

    def step_with(self, last_ids: Ids, num_best: int, wanted_ids: Ids) -> tuple[NDArray[np.float32], Ids]:
        """Extend every row by one token, with the log-probabilities of wanted ones; see `DecoderSteps`."""
        last_ids, wanted = map(self._one_for_each_row, (last_ids, wanted_ids))
        request = self._prepared(num_best, wanted.shape[1])
        request.last_ids, request.wanted = last_ids.ctypes.data, wanted.ctypes.data
        check(self._model.library.dragoman_step(self._pointer, request))
        return self._logprobs, self._ids

    def read(
        self, last_ids: Ids, wanted_ids: Ids | None
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32]]:
        """Extend every row by one token of a given target; see `DecoderSteps.read`."""
        last_ids = self._one_for_each_row(last_ids)
        wanted = None if wanted_ids is None else self._one_for_each_row(wanted_ids)
        request = self._prepared(0, 0 if wanted is None else 1)
        attention = np.zeros((self._num_rows, max(self._lengths)), np.float32)
        rows = attention.ctypes.data + attention.strides[0] * np.arange(self._num_rows)
        request.last_ids = last_ids.ctypes.data
        request.wanted = None if wanted is None else wanted.ctypes.data
        request.attention = rows.ctypes.data
        check(self._model.library.dragoman_step(self._pointer, request))
        request.attention = None
        return None if wanted is None else self._logprobs[:, 0], attention

    def select(self, rows: Ids) -> None:
        """Continue with `len(rows)` rows: new row i continues old row rows[i]; see `DecoderSteps.select`."""
        rows = np.ascontiguousarray(rows, np.int64)
        check(self._model.library.dragoman_select(self._pointer, rows.ctypes.data, len(rows)))
        beams = self._beam_size
        self._lengths = [self._lengths[row // beams] for row in rows[::beams].tolist()]
        self._num_rows = len(rows)

    def _one_for_each_row(self, ids: Ids) -> Ids:
        """Return ids as the library reads them."""
        if len(ids) != self._num_rows:
            raise ValueError(f"there are ids for {len(ids)} rows, and {self._num_rows} rows")
        return np.ascontiguousarray(ids, np.int64)

    def _prepared(self, num_best: int, num_wanted: int) -> StepRequest:
        """Return a request with space for its results, which is kept as long as its shape is the same."""
        shape = (self._num_rows, num_best + num_wanted)
        request = self._request
        if shape != self._shape:
            self._shape = shape
            self._logprobs, self._ids = np.empty(shape, np.float32), np.empty(shape, np.int64)
            request.logprobs, request.ids = self._logprobs.ctypes.data, self._ids.ctypes.data
        request.num_best, request.num_wanted = num_best, num_wanted
        return request
