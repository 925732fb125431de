"""The loop of every search, independent of the graph that makes a step and the strategy that picks tokens.

Shapes: B sources searched for, R rows (B x beam_size, the beams of a source adjacent), K candidates of
a row.
"""

import math
from collections.abc import Collection, Sequence
from ctypes import c_int64
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.beam import Beam
from dragoman.decoding.filters import FilteredStrategy
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.sampling import Sampler
from dragoman.decoding.strategy import Source, Strategy, TargetVocabulary
from dragoman.decoding.utf8 import Utf8Strategy
from dragoman.types import Hypothesis, Method, SearchKind

NAN_ERROR = "the decoder step returned NaN log-probabilities"
Encoded_contra = TypeVar("Encoded_contra", contravariant=True)
"""Encoder output of some sources, as a stepper takes it."""


class Stepper(Protocol[Encoded_contra]):
    """Runs one decoder step for all rows and keeps what each row has read."""

    def join(self, encoded: Encoded_contra) -> None:
        """Append sources: `beam_size` rows each, which have read nothing, after all other rows."""
        ...

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R], the token picked in the last step; at first the one that starts the decoder.
            num_best: K, at most the size of the vocabulary.

        Returns:
            Log-probabilities float32 [R, K] of each row's K best next tokens, best first, and their
            ids int64 [R, K]. Valid until the next step only.
        """
        ...

    def select(self, rows: NDArray[np.int64]) -> None:
        """Continue with fewer or reordered rows.

        Args:
            rows: int64 [R'], R' <= R; new row i continues old row rows[i]. Each group of beam_size rows still
                belongs to one source. Fewer groups mean that sources have left; with as many groups as
                before, every group stays in place.
        """
        ...


class FinishedSource(NamedTuple):
    """A source that is done and has left its lane."""

    source: Source
    hypotheses: list[Hypothesis]
    """Best first."""
    error: FloatingPointError | None = None
    """Set if there are no hypotheses: the stepper returned NaN, so candidates have no meaningful order."""


class StepLimit(NamedTuple):
    """Number of steps a lane may make before it returns, if no source is done."""

    most: int = 1
    """Number that it may make whoever waits; a lane may always make just one."""
    counter: c_int64 | None = None
    """If given, it may make any number until another thread changes this, or time is up."""
    value: int = 0
    """Of the counter until then."""
    time_s: float = 0.0


ONE_STEP = StepLimit()


class AnyLane(Protocol[Encoded_contra]):
    """Sources of one kind that join and leave between steps: a `Lane` or a `ForcedDecodingLane`."""

    @property
    def kind(self) -> SearchKind:
        """Kind of search that its sources share."""
        ...

    @property
    def sources(self) -> Sequence[Source]:
        """Sources in the lane, by slot."""
        ...

    def join(self, sources: Sequence[Source], encoded: Encoded_contra) -> None:
        """Add sources; `encoded` holds as many, in the same order."""
        ...

    @property
    def num_steps(self) -> int:
        """Number of steps that the last call of `step` made."""
        ...

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        """Make one step, or more until a source is done, and return the sources that are done.

        The lane must not be empty.
        """
        ...

    def remove(self, sources: Collection[Source]) -> None:
        """Remove sources; ignore those that are not in the lane."""
        ...

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of the source in a slot, without those that `Source.begin` forces."""
        ...


class Lane(Generic[Encoded_contra]):
    """A running search over sources of one kind, which join and leave between steps.

    The result for a source depends neither on the other sources nor on when it joined, if the stepper's
    rows are independent. Use from one thread.
    """

    num_steps = 1

    def __init__(self, kind: SearchKind, stepper: Stepper[Encoded_contra], strategy: Strategy) -> None:
        self.kind = kind
        self._stepper = stepper
        self._strategy = strategy

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return self._strategy.sources

    def join(self, sources: Sequence[Source], encoded: Encoded_contra) -> None:
        """Start the search for more sources; `encoded` holds as many, in the same order."""
        self._stepper.join(encoded)
        self._strategy.join(sources)

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:  # noqa: ARG002 -- it makes one
        """Make one step and return the sources that are done after it. The lane must not be empty."""
        strategy = self._strategy
        logprobs, ids = self._candidates()
        if math.isnan(np.vdot(logprobs, logprobs)):  # one call instead of isnan and any; inf * inf is inf
            return self._finish_step_without_faulty(logprobs, ids)
        rows, finished = strategy.advance(logprobs, ids)
        if rows is not None:
            self._stepper.select(rows)
        return [FinishedSource(source, hypotheses) for source, hypotheses in finished]

    def remove(self, sources: Collection[Source]) -> None:
        """Remove sources; ignore those that are not in the lane."""
        is_leaving = np.array([source in sources for source in self.sources], np.bool_)
        if is_leaving.any():
            self._stepper.select(self._strategy.remove(is_leaving))

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of a source's best hypothesis, without those `Source.begin` forces."""
        return self._strategy.best_ids(slot)

    def _candidates(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Make one step and return the candidates of each row."""
        return self._stepper.step(self._strategy.last_ids, self._strategy.num_best)

    def _finish_step_without_faulty(
        self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]
    ) -> list[FinishedSource]:
        """Finish a step after which some sources have NaN among their candidates; these leave."""
        sources = self.sources
        by_source = np.isnan(logprobs).reshape(len(sources), -1)
        is_faulty: NDArray[np.bool_] = np.logical_or.reduce(by_source, axis=1)
        error = FloatingPointError(NAN_ERROR)
        faulty = [FinishedSource(sources[slot], [], error) for slot in np.flatnonzero(is_faulty).tolist()]
        rows = self._strategy.remove(is_faulty)
        self._stepper.select(rows)
        if not self.sources:
            return faulty
        moved, finished = self._strategy.advance(logprobs[rows], ids[rows])
        if moved is not None:
            self._stepper.select(moved)
        return faulty + [FinishedSource(source, hypotheses) for source, hypotheses in finished]


def search(stepper: Stepper[Encoded_contra], strategy: Strategy) -> list[list[Hypothesis]]:
    """Search for the strategy's sources until all are done.

    Args:
        stepper: unused so far, with as many rows as `strategy.last_ids`.
        strategy: unused so far.

    Returns:
        Hypotheses of each source, best first; sources in the order they joined.

    Raises:
        FloatingPointError: the stepper returned NaN.
    """
    lane = Lane(SearchKind(strategy.beam_size), stepper, strategy)
    sources = list(lane.sources)
    results: dict[Source, list[Hypothesis]] = {}
    while lane.sources:
        for found in lane.step():
            if found.error is not None:
                raise found.error
            results[found.source] = found.hypotheses
    return [results[source] for source in sources]


def open_strategy(kind: SearchKind | int, target: TargetVocabulary) -> Strategy:
    """Create a strategy without sources.

    Args:
        kind: kind of search; or only its beam size, where 1 is greedy search.
        target: the target vocabulary.

    Raises:
        ValueError: the kind is forced decoding, not search.
    """
    if isinstance(kind, int):
        kind = SearchKind(kind)
    match kind.method:
        case Method.SEARCH:
            return _open_search(kind.beam_size, target)
        case Method.FILTERED:
            return FilteredStrategy(_open_search(kind.beam_size, target), target)
        case Method.SAMPLE:
            return FilteredStrategy(_restrict_to_utf8(Sampler(kind.beam_size, target), target), target)
        case Method.CONSTRAINED | Method.SCORE | Method.ALIGN:
            raise ValueError(f"{kind.method} has a lane of its own")


def make_strategy(sources: Sequence[Source], kind: SearchKind | int, target: TargetVocabulary) -> Strategy:
    """Create a strategy with these sources, in the stepper's order."""
    strategy = open_strategy(kind, target)
    strategy.join(sources)
    return strategy


def _open_search(beam_size: int, target: TargetVocabulary) -> Strategy:
    return _restrict_to_utf8(Greedy(target) if beam_size == 1 else Beam(beam_size, target), target)


def _restrict_to_utf8(strategy: Strategy, target: TargetVocabulary) -> Strategy:
    return Utf8Strategy(strategy, target) if target.byte_ids else strategy
