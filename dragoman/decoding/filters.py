"""Filters that make tokens less likely, or impossible, if the target already has them.

Shapes: B sources, R rows (those of a source adjacent), K candidates of a row, T tokens read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.slots import add_slots, keep_slots
from dragoman.decoding.strategy import OuterStrategy, Source, StepOutcome, Strategy, TargetVocabulary

MIN_CANDIDATES = 8
"""Minimum candidates of a row with filters, a power of two: each other number costs the stepper a binding."""


@dataclass(slots=True)
class _History:
    """Tokens read and filter options, by row."""

    read: NDArray[np.int64]  # [R, T], ids read so far and the one to read next, plus 1; 0 is empty
    lengths: NDArray[np.int64]  # [R]
    penalties: NDArray[np.float32]  # [R]
    ngram_sizes: NDArray[np.int64]  # [R], 0 disables


class FilteredStrategy(OuterStrategy):
    """A `Strategy` that passes filtered candidates to an inner one.

    The repetition penalty multiplies the log-probability of each token that a row has read by the source's
    `repetition_penalty`. An n-gram that a row has read does not occur again: tokens that would complete it
    get log-probability -inf. The ids of `Source.begin` count as read. Forced tokens stay forced.

    These are the rules of `RepetitionPenaltyLogitsProcessor` (Keskar et al. 2019,
    https://arxiv.org/abs/1909.05858, section 4.1) and `NoRepeatNGramLogitsProcessor` in Hugging Face
    Transformers 5, as beam search applies them there: to log-probabilities, which then add up to less than 1
    and are what hypotheses are scored by. One exception: the end of sentence is always possible, also if
    it starts the decoder and n is 1.

    The result is exact: filters only lower candidates, and only those of tokens that a row has read. If they
    affect at most n tokens, the K best are among the K + n candidates that were best before.
    """

    def __init__(self, inner: Strategy, target: TargetVocabulary) -> None:
        """Wrap `inner`, which must have no sources yet."""
        super().__init__(inner, target)
        self._history = self._begin([])
        self._marks = np.zeros((0, 0), np.bool_)
        self._prepare_filters()

    @property
    def num_best(self) -> int:
        """K of the inner strategy, plus the number of tokens that the filters may affect."""
        if not self._has_filters:
            return self._inner.num_best
        return round_up(self._inner.num_best + self._num_affected, self._target.size)

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others."""
        self._inner.join(sources)
        self._history = add_slots(self._history, self._begin(sources))
        self._prepare_filters()

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Filter a step's candidates and pass the best to the inner strategy.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].
        """
        if self._has_filters:
            logprobs, ids = self._filter(logprobs, ids)
        # There may be more candidates than needed, if a source has left since.
        num_best = self._inner.num_best
        advance = self._inner.advance(logprobs[:, :num_best], ids[:, :num_best])
        if advance.rows is not None:
            self._history = keep_slots(self._history, advance.rows)
        history = self._history
        history.read[np.arange(len(history.lengths)), history.lengths] = self._inner.last_ids + 1
        history.lengths += 1
        self._prepare_filters()
        return advance

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [R']."""
        rows = self._inner.remove(is_leaving)
        self._history = keep_slots(self._history, rows)
        self._prepare_filters()
        return rows

    def _begin(self, sources: Sequence[Source]) -> _History:
        num_rows = self._inner.beam_size
        longest = max((source.limits.max_tokens for source in sources), default=0)
        read = np.zeros((len(sources), longest + 1), np.int64)
        read[:, 0] = [source.begin[0] + 1 for source in sources]
        penalties = np.array([source.repetition_penalty for source in sources], np.float32)
        ngram_sizes = np.array([source.no_repeat_ngram_size for source in sources], np.int64)
        return _History(
            read=read.repeat(num_rows, axis=0),
            lengths=np.ones(len(read) * num_rows, np.int64),
            penalties=penalties.repeat(num_rows),
            ngram_sizes=ngram_sizes.repeat(num_rows),
        )

    def _prepare_filters(self) -> None:
        """Compute which tokens the next step's filters affect."""
        history = self._history
        is_penalised = history.penalties > 1.0
        self._has_filters = bool(is_penalised.any() or history.ngram_sizes.any())
        if not self._has_filters:
            return
        self._read = history.read[:, : history.lengths.max()]
        is_banned = find_repeats(self._read, history.lengths, history.ngram_sizes)
        is_banned &= self._read != self._target.eos_id + 1
        self._banned = np.where(is_banned, self._read, 0)
        num_concerned = np.where(is_penalised, history.lengths, np.count_nonzero(is_banned, axis=1))
        self._num_affected = int(num_concerned.max())

    def _filter(
        self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the candidates after the filters, float32 and int64 [R, K], best first."""
        penalties = self._history.penalties[:, None]
        if (penalties > 1.0).any():
            logprobs = np.where(self._are_among(ids, self._read), logprobs * penalties, logprobs)
        if self._banned.any():
            logprobs = np.where(self._are_among(ids, self._banned), np.float32(-np.inf), logprobs)
        order = np.argsort(-logprobs, axis=1, kind="stable")
        return np.take_along_axis(logprobs, order, axis=1), np.take_along_axis(ids, order, axis=1)

    def _are_among(self, ids: NDArray[np.int64], marked: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of each row's candidates are marked.

        Args:
            ids: int64 [R, K].
            marked: int64 [R, T], ids plus 1; 0 is empty.

        Returns:
            bool [R, K].
        """
        rows = np.arange(len(ids))[:, None]
        if len(self._marks) < len(ids):
            self._marks = np.zeros((len(ids), self._target.size + 1), np.bool_)
        self._marks[rows, marked] = True
        among = self._marks[rows, ids + 1]
        self._marks[rows, marked] = False
        return among


def round_up(num_candidates: int, vocab_size: int) -> int:
    """Round up to a power of two, so that few distinct numbers occur; at most the vocabulary."""
    return min(max(MIN_CANDIDATES, 1 << (num_candidates - 1).bit_length()), vocab_size)


def find_repeats(
    read: NDArray[np.int64], lengths: NDArray[np.int64], ngram_sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Find the tokens that would complete, as the next token, an n-gram that was read before.

    Args:
        read: int64 [R, T], the tokens that each row has read.
        lengths: int64 [R], number of tokens read.
        ngram_sizes: int64 [R], n; 0 disables.

    Returns:
        bool [R, T], True where a token of `read` must not come next.
    """
    is_repeat = np.zeros(read.shape, np.bool_)
    for size in np.unique(ngram_sizes[ngram_sizes > 0]).tolist():
        rows = np.flatnonzero((ngram_sizes == size) & (lengths >= size))
        num_ngrams = read.shape[1] - size + 1
        if not len(rows) or num_ngrams < 1:
            continue
        last = lengths[rows] - size + 1  # start of the n-gram that the next token completes
        matches = np.arange(num_ngrams) < last[:, None]  # complete n-grams
        for offset in range(size - 1):
            matches &= read[rows, offset : offset + num_ngrams] == read[rows, last + offset][:, None]
        is_repeat[rows, size - 1 :] = matches
    return is_repeat
