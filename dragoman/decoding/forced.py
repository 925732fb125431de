"""Forced decoding: run a given target through the decoder, for its log-probabilities and attention.

Shapes: B sources, one row each, S tokens of a source, T target tokens that are predicted.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.loop import ONE_STEP, Encoded_contra, FinishedSource, StepLimit
from dragoman.decoding.slots import close_gaps
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.types import ForcedDecoding, Method, SearchKind


class ForcedStepper(Protocol[Encoded_contra]):
    """Runs one decoder step for all rows, each with a target of its own."""

    def join(self, encoded: Encoded_contra) -> None:
        """Append sources: one row each, which has read nothing, after all other rows."""
        ...

    def read(
        self, last_ids: NDArray[np.int64], wanted_ids: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R], the token that each row reads.
            wanted_ids: int64 [R], the token after it; None if its log-probability is not needed.

        Returns:
            The log-probability of each row's wanted token over the whole vocabulary, float32 [R], None
            without `wanted_ids`; and the step's attention to the row's source, float32 [R, S], 0 beyond the
            source. Valid until the next step only.
        """
        ...

    def select(self, rows: NDArray[np.int64]) -> None:
        """Continue with fewer rows: new row i continues old row rows[i], int64 [R']."""
        ...


@dataclass(slots=True)
class _ForcedTarget:
    """A source with its target, and the results so far."""

    source: Source
    ids: tuple[int, ...]
    """Ids that the row reads, then the last one, which it only predicts."""
    num_steps: int = 0
    logprobs: list[float] = field(default_factory=list)
    """Log-probabilities of the tokens predicted after `Source.begin`."""
    attention: list[NDArray[np.float32]] = field(default_factory=list)
    """Attention of the steps that predict them, [S] each."""

    @property
    def last_id(self) -> int:
        return self.ids[self.num_steps]

    @property
    def wanted_id(self) -> int:
        return self.ids[self.num_steps + 1]

    @property
    def is_done(self) -> bool:
        return self.num_steps + 1 == len(self.ids)

    def take(self, logprob: float | None, attention: NDArray[np.float32]) -> None:
        """Record a step's results for the next token; skip what `Source.begin` forces."""
        if self.num_steps >= self.source.num_hidden_forced:
            is_forced = self.num_steps < self.source.num_forced
            if logprob is not None:
                self.logprobs.append(0.0 if is_forced else logprob)
            self.attention.append(attention[: len(self.source.ids)].copy())
        self.num_steps += 1


class ForcedDecodingLane(Generic[Encoded_contra]):
    """Decodes the given targets of many sources; they join and leave between steps.

    A row reads the ids of `Source.begin`, then the given ids; each step predicts the token that the next
    one reads. The last prediction is the end of sentence, unless the target is as long as its limit, like
    one that a search cut. The result is one hypothesis with the given ids, counted and scored as in a
    search. Its `reading` has an entry for each token predicted after those that `Source.begin` forces,
    end of sentence included: the log-probability (method `score` only; 0 for `Source.prefix`) and the
    attention of the step that predicts it, which reads the token before it. Without log-probabilities
    `logprob` and `score` are 0.

    The result depends neither on the other sources nor on when one joined, if the stepper's rows are
    independent. Use from one thread.
    """

    num_steps = 1

    def __init__(
        self, kind: SearchKind, stepper: ForcedStepper[Encoded_contra], target: TargetVocabulary
    ) -> None:
        """Create a lane with one row per source.

        Raises:
            ValueError: the kind is not forced decoding, or has a beam of more than one row.
        """
        if kind.method not in {Method.SCORE, Method.ALIGN} or kind.beam_size != 1:
            raise ValueError(f"forced decoding does not support {kind}")
        self.kind = kind
        self._stepper = stepper
        self._target = target
        self._targets: list[_ForcedTarget] = []

    @property
    def sources(self) -> Sequence[Source]:
        """Sources in the lane, by slot."""
        return [reader.source for reader in self._targets]

    def join(self, sources: Sequence[Source], encoded: Encoded_contra) -> None:
        """Start to decode more sources' targets; `encoded` holds as many, in the same order.

        Raises:
            ValueError: a source has no given target, or one that contains the end of sentence.
        """
        self._target.check_forced_ids(sources)
        readers = [_ForcedTarget(source, self._ids(source)) for source in sources]
        self._stepper.join(encoded)
        self._targets += readers

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:  # noqa: ARG002 -- it makes one
        """Make one step and return the sources that are done after it. The lane must not be empty."""
        readers = self._targets
        last_ids = np.array([reader.last_id for reader in readers], np.int64)
        wanted_ids = None
        if self.kind.method is Method.SCORE:
            wanted_ids = np.array([reader.wanted_id for reader in readers], np.int64)
        logprobs, attention = self._stepper.read(last_ids, wanted_ids)
        is_faulty: NDArray[np.bool_] = np.logical_or.reduce(np.isnan(attention), axis=1)
        if logprobs is not None:
            is_faulty |= np.isnan(logprobs)
        for row, reader in enumerate(readers):
            reader.take(None if logprobs is None else float(logprobs[row]), attention[row])
        is_leaving = is_faulty | np.array([reader.is_done for reader in readers])
        if not is_leaving.any():
            return []
        found = [_finished(readers[row], bool(is_faulty[row])) for row in np.flatnonzero(is_leaving).tolist()]
        self._leave(is_leaving)
        return found

    def remove(self, sources: Collection[Source]) -> None:
        """Remove sources; ignore those that are not in the lane."""
        is_leaving = np.array([source in sources for source in self.sources], np.bool_)
        if is_leaving.any():
            self._leave(is_leaving)

    def best_ids(self, slot: int) -> list[int]:
        """Return the given ids predicted so far for the source in a slot."""
        reader = self._targets[slot]
        num_predicted = max(reader.num_steps - reader.source.num_hidden_forced, 0)
        return list((reader.source.target_ids or ())[:num_predicted])

    def _ids(self, source: Source) -> tuple[int, ...]:
        if source.target_ids is None:
            raise ValueError("forced decoding requires target_ids")
        if self._target.eos_id in source.target_ids:
            raise ValueError(
                f"target_ids {source.target_ids} contain the end-of-sentence id {self._target.eos_id}"
            )
        ids = (*source.begin, *source.target_ids)
        return ids if len(ids) > source.limits.max_tokens else (*ids, self._target.eos_id)

    def _leave(self, is_leaving: NDArray[np.bool_]) -> None:
        rows = close_gaps(is_leaving)
        self._targets = [self._targets[row] for row in rows.tolist()]
        self._stepper.select(rows)


def _finished(reader: _ForcedTarget, is_faulty: bool) -> FinishedSource:  # noqa: FBT001 -- a value to pass on, not a mode
    if is_faulty:
        problem = "the decoder step returned NaN log-probabilities or attention"
        return FinishedSource(reader.source, [], FloatingPointError(problem))
    source = reader.source
    ids = source.target_ids or ()
    num_tokens = len(reader.ids) - 1
    attention = np.array(reader.attention)
    attention.flags.writeable = False  # the segment cache may share it
    is_stopped = num_tokens > source.num_hidden_forced + len(ids)
    hypothesis = source.hypothesis(
        ids,
        math.fsum(reader.logprobs),
        num_tokens,
        is_stopped=is_stopped,
        reading=ForcedDecoding(tuple(reader.logprobs), attention),
    )
    return FinishedSource(source, [hypothesis])
