"""Random shortlists, whose candidates depend on the ids of the source."""

import numpy as np
from numpy.typing import NDArray

from dragoman.shortlist import Shortlist


def random_shortlist(
    rng: np.random.Generator, source_vocab: int, target_vocab: int, always: NDArray[np.int64], max_listed: int
) -> Shortlist:
    """Return a shortlist with 0 to `max_listed` tokens for each source piece."""
    lists = [
        np.unique(rng.integers(0, target_vocab, num_listed))
        for num_listed in rng.integers(0, max_listed + 1, source_vocab)
    ]
    offsets = np.cumsum([0, *map(len, lists)])
    return Shortlist.of(np.unique(always), offsets, np.concatenate(lists), target_vocab)
