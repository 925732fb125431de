"""A lane whose greedy or beam search runs in the kernels' library: one call for a whole step.

The strategies of `dragoman.decoding` say what it does, and tests compare it with them to the last bit.
"""

from collections.abc import Collection, Sequence
from ctypes import byref, c_int64, c_void_p

import numpy as np

from dragoman.decoding.filters import round_up
from dragoman.decoding.loop import NAN_ERROR, ONE_STEP, FinishedSource, StepLimit
from dragoman.decoding.slots import close_gaps
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.decoding.utf8 import MAY_END, MAY_REPLACE, NO_BYTE, SPARE_CANDIDATES, utf8_tables
from dragoman.native.library import HypothesisRecord, LibraryObject, NativeSearchOptions, check
from dragoman.native.model import NativeModel
from dragoman.native.search_state import EncodedSources, pointers_of
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis, SearchKind


class NativeSearchLane:
    """An `AnyLane` of greedy or beam searches. Use from one thread."""

    def __init__(self, model: NativeModel, kind: SearchKind, target: TargetVocabulary) -> None:
        self.kind = kind
        self._target = target
        self._library = model.library
        self._sources: list[Source] = []
        legal, following = (np.ascontiguousarray(table, np.uint8) for table in utf8_tables())
        values = np.full(target.size, NO_BYTE, np.int16)
        values[list(target.byte_ids)] = list(target.byte_ids.values())
        pointer = c_void_p()
        check(
            self._library.dragoman_new_search(
                model.pointer,
                kind.beam_size,
                kind.is_shortlisted,
                target.eos_id,
                values.ctypes.data if target.byte_ids else None,
                legal.ctypes.data,
                following.ctypes.data,
                len(legal),
                MAY_END,
                MAY_REPLACE,
                byref(pointer),
            )
        )
        self._model = model  # outlives the search
        self._pointer = LibraryObject(pointer, self._library.dragoman_free_search)
        self._num_steps, self._count = c_int64(), c_int64()

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return self._sources

    def join(self, sources: Sequence[Source], encoded: EncodedSources) -> None:
        """Start the search for more sources; `encoded` holds as many, in the same order."""
        self._target.check_forced_ids(sources)
        forced = [np.array((*source.begin[1:], *source.prefix), np.int64) for source in sources]
        options = (NativeSearchOptions * len(sources))(
            *(self._options(source, ids.ctypes.data) for source, ids in zip(sources, forced, strict=True))
        )
        check(
            self._library.dragoman_search_join(
                self._pointer, pointers_of(encoded), options, encoded.num_sources
            )
        )
        self._sources += sources

    @property
    def num_steps(self) -> int:
        """Number of steps that the last call of `step` made."""
        return self._num_steps.value

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        """Make steps until a source is done, or as many as it may; return the sources that are done."""
        check(self._library.dragoman_search_steps(self._pointer, *limit, self._num_steps, self._count))
        if not self._count.value:
            return []
        finished, is_leaving = [], np.zeros(len(self._sources), np.bool_)
        slot, is_faulty, num_hypotheses = c_int64(), c_int64(), c_int64()
        for index in range(self._count.value):
            self._library.dragoman_found_source(self._pointer, index, slot, is_faulty, num_hypotheses)
            is_leaving[slot.value] = True
            source = self._sources[slot.value]
            found = [self._hypothesis(source, index, rank) for rank in range(num_hypotheses.value)]
            error = FloatingPointError(NAN_ERROR) if is_faulty.value else None
            finished.append(FinishedSource(source, found, error))
        self._close_gaps(is_leaving)
        return finished

    def remove(self, sources: Collection[Source]) -> None:
        """Remove sources; ignore those that are not in the lane."""
        is_leaving = np.array([source in sources for source in self._sources], np.bool_)
        if is_leaving.any():
            check(self._library.dragoman_search_remove(self._pointer, is_leaving.tobytes()))
            self._close_gaps(is_leaving)

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of the source in a slot, without those that `Source.begin` forces."""
        ids = np.empty(self._sources[slot].limits.max_tokens, np.int32)
        check(
            self._library.dragoman_search_best_ids(
                self._pointer, slot, ids.ctypes.data, len(ids), self._count
            )
        )
        found: list[int] = ids[: self._count.value].tolist()
        return found

    def _options(self, source: Source, forced: int) -> NativeSearchOptions:
        return NativeSearchOptions(
            forced,
            source.num_forced,
            source.num_hidden_forced,
            source.begin[0],
            source.limits.max_tokens,
            source.limits.min_tokens,
            source.num_hypotheses,
            round_up(self.kind.beam_size + 1 + SPARE_CANDIDATES, self._target.size),
            source.length_penalty,
            source.early_stopping,
            source.can_spell_replacement,
            source.wants_attention,
        )

    def _hypothesis(self, source: Source, index: int, rank: int) -> Hypothesis:
        record = HypothesisRecord()
        self._library.dragoman_read_hypothesis(self._pointer, index, rank, record)
        reason = FinishReason.STOP if record.is_stopped else FinishReason.LENGTH
        ids = tuple(record.ids[: record.num_ids])
        reading = None
        if record.attention:
            shape = (record.num_ids + record.is_stopped, len(source.ids))
            attention = np.ctypeslib.as_array(record.attention, shape).copy()
            attention.flags.writeable = False  # the segment cache may share it
            reading = ForcedDecoding((), attention)
        return Hypothesis(ids, record.logprob, record.num_tokens, record.score, reason, reading)

    def _close_gaps(self, is_leaving: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        self._sources = [self._sources[slot] for slot in close_gaps(is_leaving).tolist()]
