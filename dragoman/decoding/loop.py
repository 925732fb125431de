"""The loop of every search. It knows neither the graph that makes a step nor the strategy that picks tokens.

Shapes: B sources still searched for, R rows (B x beam_size, the beams of a source side by side),
K candidates of a row.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.beam import Beam
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import SourceLimits, Strategy
from dragoman.types import Hypothesis


class Stepper(Protocol):
    """Runs one decoder step for all rows, and remembers what each row has read."""

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R], the token picked one step ago; the beginning-of-sentence id at first.
            num_best: K, at most the size of the vocabulary.

        Returns:
            Log-probabilities float32 [R, K] of each row's K best next tokens, best first, and their
            ids int64 [R, K].
        """
        ...

    def select(self, rows: NDArray[np.int64]) -> None:
        """Continue with fewer rows, or with rows in other places.

        Args:
            rows: int64 [R'], R' <= R; new row i carries on from old row rows[i]. Groups of beam_size rows
                stay groups of one source; fewer groups than before mean that sources have left.
        """
        ...


def search(stepper: Stepper, strategy: Strategy) -> list[list[Hypothesis]]:
    """Step until every source is done; a source leaves the batch as soon as it is.

    A source's results do not depend on the sources beside it, if the stepper's rows do not.

    Args:
        stepper: fresh, with as many rows as `strategy.last_ids`.
        strategy: fresh.

    Returns:
        Per source, in the order given, its hypotheses, best first.

    Raises:
        FloatingPointError: the stepper returned NaN; no order of candidates would mean anything.
    """
    while not strategy.is_done:
        logprobs, ids = stepper.step(strategy.last_ids, strategy.num_best)
        if np.isnan(logprobs).any():
            raise FloatingPointError("the decoder step returned log-probabilities that are not numbers")
        rows = strategy.advance(logprobs, ids)
        if rows is not None:
            stepper.select(rows)
    return strategy.results()


def make_strategy(
    limits: Sequence[SourceLimits], options: DecodingOptions, bos_id: int, eos_id: int, vocab_size: int
) -> Strategy:
    """Greedy search for a beam of 1, else beam search.

    Args:
        limits: one per source, in the order of the stepper's sources.
        options: beam size, number of hypotheses and length penalty; its limits are already in `limits`.
        bos_id: begins every target.
        eos_id: ends every target.
        vocab_size: of the target; at least 2, the end-of-sentence token and something to say.
    """
    if vocab_size < 2:  # noqa: PLR2004 -- the docstring says why 2
        raise ValueError(f"a vocabulary of {vocab_size} has nothing but the end of the sentence")
    if options.beam_size == 1:
        return Greedy(limits, options.length_penalty, bos_id, eos_id)
    return Beam(limits, options, bos_id, eos_id, vocab_size)
