"""The shortlists of a running batch, as inputs of the decoder graph.

One shortlist serves the batch, the union of its sources'. Each row looks only at its own source's tokens, so
that its results do not depend on other sources. Shapes: B sources, R rows, C tokens on the batch's shortlist,
P tokens on the longest shortlist of a source, N model width.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import KEPT_ROWS
from dragoman.decoding.slots import rows_of

WIDTH_MULTIPLE = 64
"""P is a multiple of this, and so at least as large as the number of candidates that a search needs."""
MAX_ROWS_WITH_KEPT_PROJECTION = 8
"""Maximum rows for which gathered rows of the output projection are kept. Beyond it, a step took longer with
kept rows than with freshly gathered ones, which are still in the core's cache."""

Ids = NDArray[np.int64]


def inputs_without_shortlist(num_rows: int, num_wanted: int, width: int) -> dict[str, NDArray[Any]]:
    """Return the decoder graph's inputs without shortlists; the caller writes the wanted tokens.

    Args:
        num_rows: R.
        num_wanted: tokens per row whose log-probability is wanted.
        width: N.
    """
    return {
        "has_shortlist": np.array(False),  # noqa: FBT003 -- the value
        "shortlist": np.zeros(0, np.int64),
        "candidates": np.zeros((num_rows, num_wanted), np.int64),
        "candidate_bias": np.zeros((num_rows, num_wanted), np.float32),
        KEPT_ROWS: np.zeros((0, width), np.uint8),
    }


def inputs_without_tokens(num_rows: int, width: int) -> dict[str, NDArray[Any]]:
    """Return the decoder graph's inputs if no token is scored: a shortlist that is empty."""
    return inputs_without_shortlist(num_rows, 0, width) | {"has_shortlist": np.array(True)}  # noqa: FBT003 -- the value


class BatchShortlist:
    """The tokens that each row may use next; empty until a shortlist joins."""

    def __init__(self, beam_size: int, vocab_size: int, width: int) -> None:
        self._beam_size = beam_size
        self._width = width
        self._source_shortlists: list[Ids] = []  # by source
        self._positions = np.zeros(vocab_size, np.int64)  # positions of tokens on the batch's shortlist
        self._shortlist: Ids = np.zeros(0, np.int64)
        self._rows: Ids = np.zeros((0, 0), np.int64)
        self._bias: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._is_laid_out = True
        self._kept = np.zeros((0, width), np.uint8)  # the shortlist's rows of the output projection
        self._is_filled = False

    @property
    def shortlist(self) -> Ids:
        """Token ids on the batch's shortlist, int64 [C], ascending."""
        self._update_layout()
        return self._shortlist

    def join(self, lists: Sequence[Ids]) -> None:
        """Add more sources' shortlists, after all others."""
        self._source_shortlists += lists
        # Several may join before the next step: lay them out then, once for all.
        self._is_laid_out = False

    def keep(self, slots: Ids) -> None:
        """Let source i become source slots[i]; the batch's shortlist may keep tokens that none needs."""
        self._source_shortlists = [self._source_shortlists[slot] for slot in slots.tolist()]
        if self._is_laid_out:
            (moved,) = (slots != np.arange(len(slots))).nonzero()
            new, old = rows_of(moved, self._beam_size), rows_of(slots[moved], self._beam_size)
            self._rows[new], self._bias[new] = self._rows[old], self._bias[old]

    def inputs(self, num_rows: int) -> dict[str, NDArray[Any]]:
        """Return the decoder graph's inputs; valid until sources join, even if rows move."""
        shortlist = self.shortlist
        if not len(shortlist):
            return inputs_without_shortlist(num_rows, 0, self._width)
        return {
            "has_shortlist": np.array(True),  # noqa: FBT003 -- the value
            "shortlist": shortlist,
            "candidates": self._rows[:num_rows],
            "candidate_bias": self._bias[:num_rows],
            KEPT_ROWS: self._kept if self._is_filled and self._is_worth_keeping(num_rows) else self._kept[:0],
        }

    def kept_rows_buffer(self, num_rows: int) -> NDArray[np.uint8] | None:
        """Return the buffer where the next step writes the shortlist's rows of the output projection.

        Returns:
            uint8 [C, N]; call `mark_rows_kept` when it is filled. None if the rows are not needed.
        """
        if self._is_filled or not len(self.shortlist) or not self._is_worth_keeping(num_rows):
            return None
        self._kept = np.empty((len(self.shortlist), self._width), np.uint8)
        return self._kept

    def mark_rows_kept(self) -> None:
        """Mark the buffer as filled: `inputs` includes it until sources join."""
        self._is_filled = True

    def _is_worth_keeping(self, num_rows: int) -> bool:
        return num_rows <= MAX_ROWS_WITH_KEPT_PROJECTION

    def _update_layout(self) -> None:
        """Compute the batch's shortlist, and the positions on it of each row's own tokens."""
        if self._is_laid_out:
            return
        self._is_laid_out = True
        self._is_filled = False
        listed = np.concatenate(self._source_shortlists) if self._source_shortlists else np.zeros(0, np.int64)
        is_listed = np.zeros(len(self._positions), np.bool_)
        is_listed[listed] = True
        self._shortlist = np.flatnonzero(is_listed).astype(np.int64, copy=False)
        self._positions[self._shortlist] = np.arange(len(self._shortlist))
        lengths = np.array([len(each) for each in self._source_shortlists], np.int64)
        width = -(-int(lengths.max(initial=0)) // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
        is_own = np.arange(width) < lengths[:, None]
        positions = np.zeros(is_own.shape, np.int64)
        positions[is_own] = self._positions[listed]
        bias = np.where(is_own, np.float32(0), np.float32(-np.inf))
        self._rows = positions.repeat(self._beam_size, axis=0)
        self._bias = bias.repeat(self._beam_size, axis=0)
