"""Alignment of the words of a segment and its translation, from the attention of forced decoding.

Every target word goes with the source word that it attends to most, all pieces of both added up: Garg et al.
2019, "Jointly Learning to Align and Translate with Transformer Models", arXiv:1909.02074, take the maximum
by piece. docs/explanation/forced-decoding.md says which attention is used, and how often it is right.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.words import Word
from dragoman.types import Link


def link_words(
    attention: NDArray[np.float32], source: Sequence[Word], target: Sequence[Word]
) -> tuple[Link, ...]:
    """Return a link for each target word, in their order; none where there is no source word.

    Args:
        attention: float32 [target pieces, source pieces]; what a source's own tokens that are no piece of
            its text attract is left out before.
        source: words whose pieces are all columns, in order.
        target: words whose pieces are all rows, in order.
    """
    if not source or not target:
        return ()
    columns = np.add.reduceat(attention, [word.pieces[0] for word in source], axis=1)
    best = np.add.reduceat(columns, [word.pieces[0] for word in target]).argmax(axis=1).tolist()
    return tuple(Link(source[column].span, word.span) for column, word in zip(best, target, strict=True))
