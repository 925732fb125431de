"""Coverage of a model's own translations by a shortlist."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.shortlist import Shortlist
from export.shortlist.pairs import TokenPairs

BATCH_SIZES = (8, 32)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of N pairs, whose targets are the model's own translations with its full vocabulary.

    A greedy translation that is covered is the same with and without the shortlist.
    """

    token_share: float
    """Share of target tokens that are candidates of their source, end of sentence (always one) excluded."""
    sentence_share: float
    """Share of sentences whose tokens all are candidates."""
    mean_candidates: float
    """Mean number of candidates of a source."""
    mean_union: dict[int, float]
    """Mean number of candidates of several neighbouring sources together, by number of sources."""


def measure_coverage(shortlist: Shortlist, pairs: TokenPairs) -> Coverage:
    """Compare translations with the candidates of their sources.

    Args:
        shortlist: shortlist for the pairs' vocabularies.
        pairs: at least one, not those that the shortlist was made from, ids without end of sentence.
    """
    covered = is_covered(shortlist, pairs)
    of_token = np.repeat(np.arange(len(pairs)), pairs.targets.lengths)
    num_missed = np.bincount(of_token, ~covered, len(pairs))
    candidates = [shortlist.candidates(source.tolist()) for source in pairs.sources]
    return Coverage(
        token_share=float(covered.mean()) if len(covered) else 1.0,
        sentence_share=float((num_missed == 0).mean()),
        mean_candidates=float(np.mean([len(ids) for ids in candidates])),
        mean_union={size: _mean_union(candidates, size) for size in BATCH_SIZES},
    )


def is_covered(shortlist: Shortlist, pairs: TokenPairs) -> NDArray[np.bool_]:
    """Return whether each target token is a candidate of its source, bool [target tokens]."""
    sides = zip(pairs.sources, pairs.targets, strict=True)
    covered = [np.isin(target, shortlist.candidates(source.tolist())) for source, target in sides]
    return np.concatenate([np.empty(0, np.bool_), *covered])


def _mean_union(candidates: Sequence[NDArray[np.int64]], size: int) -> float:
    """Return the mean over whole batches; over all sources together if they do not fill one."""
    starts = range(0, max(1, len(candidates) - size + 1), size)
    return float(np.mean([len(np.unique(np.concatenate(candidates[at : at + size]))) for at in starts]))
