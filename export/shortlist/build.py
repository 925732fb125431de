"""Construction of a shortlist from pairs: the lists of source pieces, and candidates of every source."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.shortlist import Shortlist
from export.shortlist.align import Links, link_pieces
from export.shortlist.coverage import is_covered
from export.shortlist.pairs import TokenPairs
from export.shortlist.vocabularies import ShortlistVocabularies


@dataclass(frozen=True, slots=True)
class ShortlistSettings:
    """Lengths of the lists; docs/explanation/shortlist.md has the costs and gains of other values.

    Raises:
        ValueError: a setting is below its minimum.
    """

    listed_per_piece: int = 10
    """Maximum number of target pieces that a source piece lists, not counting itself."""
    min_tokens: int = 2
    """Minimum number of a target piece's tokens that a source piece must explain to list it."""
    num_always: int = 1200
    """Number of target pieces that are candidates of every source."""
    iterations: int = 5
    """Rounds of EM."""

    def __post_init__(self) -> None:
        for name, least in (("listed_per_piece", 0), ("min_tokens", 1), ("num_always", 1), ("iterations", 1)):
            value: int = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} is {value}, but must be at least {least}")


def build_shortlist(
    learning: TokenPairs,
    choosing: TokenPairs,
    vocabularies: ShortlistVocabularies,
    settings: ShortlistSettings,
) -> Shortlist:
    """Learn lists from one set of pairs, and add what another set shows to be missing.

    Every source piece lists the target pieces whose tokens it explains most. Candidates of every source
    are the pieces that names and numbers may need, then those that the lists miss most often: pieces from
    inside words, which no source piece predicts, more than frequent words, which are listed anyway.

    Args:
        learning: pairs to align; the model's own translations, parallel text, or both.
        choosing: other pairs, preferably with the model's own translations as targets.
        vocabularies: vocabularies of the bundle.
        settings: lengths of the lists.

    Raises:
        ValueError: there are no pairs to learn from or to choose by: needed tokens would be missing.
    """
    if not len(learning) or not len(choosing):
        raise ValueError(
            f"{len(learning)} pairs to learn from and {len(choosing)} to choose by; give more pairs"
        )
    links = link_pieces(learning, vocabularies.source_size, vocabularies.target_size, settings.iterations)
    return select_candidates(links, learning, choosing, vocabularies, settings)


def select_candidates(
    links: Links,
    learning: TokenPairs,
    choosing: TokenPairs,
    vocabularies: ShortlistVocabularies,
    settings: ShortlistSettings,
) -> Shortlist:
    """Build a shortlist from an alignment, which is the slow part of `build_shortlist`."""
    copied = _find_copied_pieces(learning, choosing, vocabularies)
    spelling = np.array(vocabularies.spelling, np.int64)
    draft = _assemble(
        _best_links_by_piece(links, spelling, vocabularies, settings), copied, spelling, vocabularies
    )
    missed = choosing.targets.ids[~is_covered(draft, choosing)]
    num_missed = np.bincount(missed, minlength=vocabularies.target_size)
    num_tokens = np.bincount(choosing.targets.ids, minlength=vocabularies.target_size)
    order = np.lexsort((-num_tokens, -num_missed))
    rest = order[(num_tokens[order] > 0) & ~np.isin(order, [*vocabularies.spelling, *vocabularies.never])]
    always = np.concatenate([spelling, rest[: max(0, settings.num_always - len(spelling))]])
    return _assemble(
        _best_links_by_piece(links, always, vocabularies, settings), copied, always, vocabularies
    )


def _find_copied_pieces(
    learning: TokenPairs, choosing: TokenPairs, vocabularies: ShortlistVocabularies
) -> NDArray[np.int64]:
    """Return the pieces that list themselves: those that are known to occur in targets, and bytes.

    Words of the source language would increase a batch's candidates by a tenth, and are never produced.
    """
    if not vocabularies.is_shared:
        return np.empty(0, np.int64)
    seen = np.concatenate([learning.targets.ids, choosing.targets.ids, vocabularies.bytes])
    return np.setdiff1d(seen, vocabularies.never).astype(np.int64)


def _best_links_by_piece(
    links: Links, always: NDArray[np.int64], vocabularies: ShortlistVocabularies, settings: ShortlistSettings
) -> Links:
    """Return, for each source piece, its links that explain most tokens, to pieces that must be listed."""
    is_open = ~np.isin(links.target_ids, [*always.tolist(), *vocabularies.never])
    is_open &= links.num_tokens >= settings.min_tokens
    sources, targets = links.source_ids[is_open], links.target_ids[is_open]
    num_tokens = links.num_tokens[is_open]
    order = np.lexsort((targets, -num_tokens, sources))
    rank = np.arange(len(order)) - np.searchsorted(sources, sources[order])
    best = np.sort(order[rank < settings.listed_per_piece])
    return Links(sources[best], targets[best], num_tokens[best])


def _assemble(
    links: Links, copied: NDArray[np.int64], always: NDArray[np.int64], vocabularies: ShortlistVocabularies
) -> Shortlist:
    """Return a shortlist of these links and copies; pieces in `always` are not listed too."""
    sources = np.concatenate([links.source_ids, copied])
    targets = np.concatenate([links.target_ids, copied])
    is_listed = ~np.isin(targets, always)
    keys = np.unique(sources[is_listed] * vocabularies.target_size + targets[is_listed])
    sources, listed = np.divmod(keys, vocabularies.target_size)
    offsets = np.searchsorted(sources, np.arange(vocabularies.source_size + 1))
    return Shortlist.of(np.unique(always), offsets, listed, vocabularies.target_size)
