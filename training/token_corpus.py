"""A corpus as token ids in one flat file, so that training never waits for text processing."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from training import controls
from training.config import MAX_VOCABULARY
from training.corpus import TextPair

IDS_DTYPE = np.uint16
ENCODE_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class TokenCorpus:
    """Token ids of pairs: the source of pair n is ids[offsets[2n]:offsets[2n+1]]; its target follows.

    Sources and targets both end with the end-of-sentence id.
    """

    ids: NDArray[np.uint16]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return (len(self.offsets) - 1) // 2

    def source(self, pair: int) -> NDArray[np.uint16]:
        return self.ids[self.offsets[2 * pair] : self.offsets[2 * pair + 1]]

    def target(self, pair: int) -> NDArray[np.uint16]:
        return self.ids[self.offsets[2 * pair + 1] : self.offsets[2 * pair + 2]]

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of source and target tokens of each pair, int64 [pairs, 2]."""
        return np.diff(self.offsets).reshape(-1, 2)

    def lengths_of(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of source and target tokens of some pairs, int64 [pairs, 2]."""
        lengths: NDArray[np.int64] = np.diff(self.offsets[2 * pairs[:, None] + np.arange(3)])
        return lengths

    def save(self, path: Path) -> None:
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, ids=self.ids, offsets=self.offsets)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> "TokenCorpus":
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["ids"], arrays["offsets"])


def tokenise(
    pairs: Iterable[TextPair],
    source_processor: sentencepiece.SentencePieceProcessor,
    target_processor: sentencepiece.SentencePieceProcessor,
    max_tokens: int,
) -> TokenCorpus:
    """Encode pairs; drop those with more than `max_tokens` tokens on a side.

    Raises:
        ValueError: a vocabulary is too large for uint16 ids.
    """
    if max(source_processor.vocab_size(), target_processor.vocab_size()) > MAX_VOCABULARY:
        raise ValueError(f"vocabulary over {MAX_VOCABULARY} pieces does not fit uint16 ids")
    parts: list[NDArray[np.uint16]] = []
    remaining = iter(pairs)
    while chunk := list(itertools.islice(remaining, ENCODE_CHUNK)):
        sources = controls.encode(source_processor, [pair.source for pair in chunk])
        targets = target_processor.encode([pair.target for pair in chunk], add_eos=True)
        for source, target in zip(sources, targets, strict=True):
            if max(len(source), len(target)) <= max_tokens:
                parts += [np.array(source, IDS_DTYPE), np.array(target, IDS_DTYPE)]
    lengths = np.fromiter((len(part) for part in parts), np.int64, len(parts))
    ids = np.concatenate(parts) if parts else np.empty(0, IDS_DTYPE)
    return TokenCorpus(ids, np.concatenate([[0], np.cumsum(lengths)]))
