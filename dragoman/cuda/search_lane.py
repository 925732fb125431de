"""A lane whose greedy or beam search runs on a GPU, several steps to a synchronisation.

The strategies of `dragoman.decoding` say what it does; tests compare it with them to the last bit.
"""

import weakref
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.cuda.columns import Fact, FinishedFact, RowFact, SourceStatus
from dragoman.cuda.memory import MAX_BEAMS
from dragoman.cuda.model import CudaModel
from dragoman.decoding.beam import follow_parents
from dragoman.decoding.loop import NAN_ERROR, ONE_STEP, FinishedSource, StepLimit
from dragoman.decoding.scoring import length_norms
from dragoman.decoding.strategy import Source
from dragoman.errors import InputError
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis, SearchKind

SourceIds = Sequence[Sequence[int]]


class CudaSearchLane:
    """An `AnyLane` of greedy or beam searches. Use from one thread, and not after an error."""

    def __init__(self, model: CudaModel, kind: SearchKind) -> None:
        self.kind = kind
        self.num_steps = 1
        self._model = model
        self._sources: list[Source] = []
        self.slots: list[int] = []
        """Slots of the model that its sources have."""
        self._lengths: list[int] = []
        self._num_pending = 0  # sources at the end that are not encoded
        self._finalizer = weakref.finalize(self, _release, model, self.slots)

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return self._sources

    def join(self, sources: Sequence[Source], encoded: SourceIds) -> None:
        """Add sources; the next step encodes all that have joined, together."""
        del encoded  # the same ids
        model = self._model
        model.target.check_forced_ids(sources)
        for source in sources:
            for field, count, most in (
                ("text", len(source.ids), model.plan.source_tokens),
                ("max_length", source.limits.max_tokens, model.plan.target_tokens - 1),
            ):
                if count > most:
                    raise InputError(field, f"{count} tokens are over the limit of {most}")
        for source in sources:
            self.slots.append(model.slots.take(self.kind.beam_size)[0])
            self._sources.append(source)
            self._lengths.append(0)
            self._num_pending += 1

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        """Make up to `limit.most` steps at once; return the sources that are done after them."""
        model = self._model
        left = max(
            source.limits.max_tokens - length
            for source, length in zip(self._sources, self._lengths, strict=True)
        )
        self.num_steps = min(limit.most, left)
        try:
            with model.lock, torch.inference_mode():
                self._begin()
                facts = model.steps(np.array(self.slots, np.int32), self.kind.beam_size, self.num_steps)
                self._lengths = facts[:, Fact.LENGTH].tolist()
                is_leaving = facts[:, Fact.STATUS] != SourceStatus.RUNNING
                if not is_leaving.any():
                    return []
                leaving = np.flatnonzero(is_leaving)
                found = self._results(leaving, facts[leaving])
        except BaseException:
            self._finalizer()  # the caller begins the sources again in other lanes, which need the slots
            raise
        self._leave(is_leaving)
        return found

    def remove(self, sources: Collection[Source]) -> None:
        """Remove sources; ignore those that are not in the lane."""
        is_leaving = np.array([source in sources for source in self._sources], np.bool_)
        if is_leaving.any():
            self._num_pending -= int(is_leaving[len(is_leaving) - self._num_pending :].sum())
            self._leave(is_leaving)

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of the source in a slot, without those that `Source.begin` forces."""
        with self._model.lock:
            history = self._history([self.slots[slot]], self._lengths[slot])
        return _ids(history, 0, 0, self._lengths[slot])[self._sources[slot].num_hidden_forced :]

    def _begin(self) -> None:
        """Write what is known of the sources that have joined, and encode them."""
        if not self._num_pending:
            return
        model, beam_size = self._model, self.kind.beam_size
        sources, slots = self._sources[-self._num_pending :], self.slots[-self._num_pending :]
        facts = np.array([_facts(source) for source in sources], np.int32)
        rows = np.zeros((len(sources), MAX_BEAMS, len(RowFact)), np.int32)
        rows[:, :, RowFact.LAST] = np.array([source.begin[0] for source in sources], np.int32)[:, None]
        rows[:, :beam_size, RowFact.CACHE] = [model.slots.rows_of(slot) for slot in slots]
        totals = np.full((len(sources), MAX_BEAMS), -np.inf)
        totals[:, 0] = 0.0
        indices = model.put_array(np.array(slots, np.int64))
        model.facts[indices] = model.put_array(facts)
        model.rows[indices] = model.put_array(rows)
        model.totals[indices] = model.put_array(totals)
        most_forced = max(source.num_forced for source in sources)
        if most_forced:
            forced = np.zeros((len(sources), most_forced), np.int32)
            for row, source in enumerate(sources):
                forced[row, : source.num_forced] = (*source.begin[1:], *source.prefix)
            model.forced[indices, :most_forced] = model.put_array(forced)
        if beam_size > 1:
            width = model.norms.shape[1]
            norms = np.stack([length_norms(width - 1, source.length_penalty) for source in sources])
            model.norms[indices] = model.put_array(norms)
            model.scores[indices] = -np.inf
            model.finals[indices] = 0.0
            model.finished[indices] = -1
        model.encode(slots, [source.ids for source in sources])
        self._num_pending = 0

    def _leave(self, is_leaving: NDArray[np.bool_]) -> None:
        """Free the slots of sources that leave; the others keep theirs, so nothing moves."""
        leaving = [slot for slot, leaves in zip(self.slots, is_leaving, strict=True) if leaves]
        staying = [index for index, leaves in enumerate(is_leaving.tolist()) if not leaves]
        self._sources = [self._sources[index] for index in staying]
        self._lengths = [self._lengths[index] for index in staying]
        self.slots[:] = [self.slots[index] for index in staying]
        self._model.slots.release(leaving)

    def _history(self, slots: Sequence[int], most: int) -> "_History":
        """Return the first `most` steps of some slots."""
        model, beams = self._model, self.kind.beam_size
        indices = model.put_array(np.array(slots, np.int64))
        tokens = model.tokens[:, :most, :beams][indices].cpu().numpy()
        parents = np.zeros(tokens.shape, np.uint8)
        if beams > 1:
            parents = model.parents[:, :most, :beams][indices].cpu().numpy()
        return _History(tokens, parents, [model.slots.rows_of(slot) for slot in slots])

    def _results(self, leaving: NDArray[np.int64], facts: NDArray[np.int32]) -> list[FinishedSource]:
        """Return the hypotheses of sources that are done."""
        model, slots = self._model, [self.slots[index] for index in leaving.tolist()]
        history = self._history(slots, int(facts[:, Fact.LENGTH].max()))
        indices = model.put_array(np.array(slots, np.int64))
        totals = model.totals[indices].cpu().numpy()
        ends = scores = None
        if self.kind.beam_size > 1:
            ends = model.finished[indices].cpu().numpy()
            scores = np.stack([model.scores[indices].cpu().numpy(), model.finals[indices].cpu().numpy()], 2)
        found = []
        for nth, index in enumerate(leaving.tolist()):
            source = self._sources[index]
            if facts[nth, Fact.STATUS] == SourceStatus.FAULTY:
                found.append(FinishedSource(source, [], FloatingPointError(NAN_ERROR)))
                continue
            length = int(facts[nth, Fact.LENGTH])
            if ends is None or scores is None:
                hypotheses = [self._greedy(source, history, nth, float(totals[nth, 0]), length)]
            else:
                hypotheses = self._best(source, history, nth, (scores[nth], ends[nth]), length)
            found.append(FinishedSource(source, hypotheses))
        return found

    def _greedy(
        self, source: Source, history: "_History", nth: int, logprob: float, length: int
    ) -> Hypothesis:
        ids = history.tokens[nth, source.num_hidden_forced : length, 0].tolist()
        is_stopped = ids[-1:] == [self._model.target.eos_id]
        found = source.hypothesis(ids[:-1] if is_stopped else ids, logprob, length, is_stopped=is_stopped)
        return found._replace(reading=self._attention(source, history, nth, 0, length))

    def _best(
        self,
        source: Source,
        history: "_History",
        nth: int,
        ends: tuple[NDArray[np.float64], NDArray[np.int32]],
        length: int,
    ) -> list[Hypothesis]:
        """Return a source's best finished hypotheses, or the placeholder of `Beam` if there are none."""
        scores, facts = (part[: self.kind.beam_size].tolist() for part in ends)
        first = source.num_hidden_forced
        order = sorted(
            (-score, fact[FinishedFact.ORDER], logprob, fact)
            for (score, logprob), fact in zip(scores, facts, strict=True)
            if fact[FinishedFact.ORDER] >= 0
        )
        found = []
        for negative, _, logprob, fact in order[: source.num_hypotheses]:
            ids = _ids(history, nth, fact[FinishedFact.PARENT], fact[FinishedFact.NUM_TOKENS] - 1)[first:]
            is_stopped = fact[FinishedFact.LAST] == self._model.target.eos_id
            reason = FinishReason.STOP if is_stopped else FinishReason.LENGTH
            if not is_stopped:
                ids.append(fact[FinishedFact.LAST])
            num_tokens = fact[FinishedFact.NUM_TOKENS]
            reading = self._attention(source, history, nth, fact[FinishedFact.PARENT], num_tokens)
            found.append(Hypothesis(tuple(ids), logprob, num_tokens, -negative, reason, reading))
        if not found:
            ids = _ids(history, nth, 0, length)[first:]
            parent = int(history.parents[nth, length - 1, 0])
            reading = self._attention(source, history, nth, parent, length)
            found = [Hypothesis(tuple(ids), -np.inf, length, -np.inf, FinishReason.LENGTH, reading)]
        return found

    def _attention(
        self, source: Source, history: "_History", nth: int, parent: int, num_tokens: int
    ) -> ForcedDecoding | None:
        """Return the attention of the steps that predicted a hypothesis's tokens, if it is wanted.

        `parent` is its rank before the last one.
        """
        if not source.wants_attention:
            return None
        before = history.parents[nth, : num_tokens - 1].tolist()
        ranks = (*follow_parents(before, before, parent), parent)
        rows_of_steps = [history.cache_rows[nth][rank] for rank in ranks]
        first = source.num_hidden_forced
        indices = self._model.put_array(np.array(rows_of_steps[first:], np.int64))
        steps = torch.arange(first, num_tokens, device=self._model.device)
        attention = self._model.attention[indices, steps, : len(source.ids)].float().cpu().numpy()
        attention.flags.writeable = False  # the segment cache may share it
        return ForcedDecoding((), attention)


class _History(NamedTuple):
    """The steps of some sources."""

    tokens: NDArray[np.int32]
    """Token of each rank, [B, T, K]."""
    parents: NDArray[np.uint8]
    """Rank before each step of each rank after it, [B, T, K]."""
    cache_rows: Sequence[Sequence[int]]
    """Row of the caches that each rank writes, [B, K]."""


def _ids(history: _History, nth: int, rank: int, length: int) -> list[int]:
    """Return the ids of the hypothesis with this rank at this length."""
    tokens, parents = (part[nth, :length].tolist() for part in (history.tokens, history.parents))
    return follow_parents(tokens, parents, rank)


def _facts(source: Source) -> tuple[int, ...]:
    """Return the `Fact`s of a source that begins, in their order."""
    limits, num_tokens = source.limits, len(source.ids)
    flags = (source.can_spell_replacement, source.early_stopping)
    wants = source.wants_attention
    return (0, limits.max_tokens, limits.min_tokens, source.num_forced, *flags, 0, num_tokens, 0, wants)


def _release(model: CudaModel, slots: list[int]) -> None:
    """Free the slots of a lane that is not used any more."""
    model.slots.release(slots)
    slots.clear()
