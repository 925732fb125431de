"""Marian's binary lexical shortlist, as candidates of our own shortlist.

All numbers are little-endian (marian-dev, src/data/shortlist.cpp). Six numbers of 8 bytes: magic, checksum,
number of first ids that are candidates of every source, most candidates of a piece, number of offsets,
number of listed ids. Then the offsets, 8 bytes each: piece s lists listed[offsets[s]:offsets[s + 1]]. Then
the listed ids, 4 bytes each.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.shortlist import Shortlist

MAGIC = 0xF11A48D5013417F5
MAX_BYTES = 2**30
"""Maximum size of a file; known ones have a few megabytes."""
_HEADER = struct.Struct("<6Q")
_HASHED_FROM = 16
"""Offset of the first byte that the checksum covers."""
_GOLDEN_RATIO = 0x9E3779B9
_WORD = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Candidates by source piece."""

    num_always: int
    """The first ids of the target vocabulary are candidates of every source."""
    offsets: NDArray[np.int64]
    """[pieces + 1]: piece s lists listed[offsets[s]:offsets[s + 1]]."""
    listed: NDArray[np.int64]

    def shortlist(
        self, sizes: tuple[int, int], eos_id: int, *, lists_own_id: bool, num_pieces: int
    ) -> Shortlist:
        """Return a shortlist with these candidates, and the end of sentence.

        Marian fills a batch's candidates up to a multiple of eight with further ids; this is not imitated.

        Args:
            sizes: sizes of the bundle's source and target vocabulary, with rows without a piece.
            eos_id: end of sentence.
            lists_own_id: whether each source piece is a candidate, as with one vocabulary for both sides.
            num_pieces: number of pieces of the target vocabulary.

        Raises:
            ValueError: the lists are of larger vocabularies, or ids are not of the target vocabulary.
        """
        source_size, target_size = sizes
        if len(self.offsets) - 1 > source_size:
            raise ValueError(
                f"has lists of {len(self.offsets) - 1} pieces, but the source vocabulary has {source_size}"
            )
        if len(self.listed) and not 0 <= int(self.listed.min()) <= int(self.listed.max()) < num_pieces:
            raise ValueError(
                f"lists ids {self.listed.min()} to {self.listed.max()}, but the target vocabulary has "
                f"{num_pieces} pieces"
            )
        always = np.union1d(np.arange(min(self.num_always, num_pieces)), [eos_id])
        sources = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        every_id = np.arange(num_pieces if lists_own_id else 0)
        sources, targets = np.concatenate([sources, every_id]), np.concatenate([self.listed, every_id])
        is_listed = ~np.isin(targets, always)
        keys = np.unique(sources[is_listed] * target_size + targets[is_listed])
        sources, targets = np.divmod(keys, target_size)
        offsets = np.searchsorted(sources, np.arange(source_size + 1))
        return Shortlist.of(always, offsets, targets, target_size)


def is_lexicon(path: Path) -> bool:
    """Return whether a file begins like a binary shortlist."""
    with path.open("rb") as file:
        return file.read(8) == MAGIC.to_bytes(8, "little")


def read_lexicon(path: Path) -> Lexicon:
    """Read a binary shortlist; its size is checked before it is read.

    Raises:
        ValueError: it is damaged; the message says how.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes > MAX_BYTES:
            raise ValueError(f"has {size_bytes} bytes; the limit is {MAX_BYTES}")
        content = file.read(size_bytes)
    if len(content) < _HEADER.size:
        raise ValueError(f"has {len(content)} bytes, fewer than the {_HEADER.size} of its header")
    magic, checksum, num_always, _, num_offsets, num_listed = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise ValueError("is not a binary shortlist of Marian's")
    wanted_bytes = _HEADER.size + 8 * num_offsets + 4 * num_listed
    if wanted_bytes != len(content):
        raise ValueError(f"has {len(content)} bytes, but its header needs {wanted_bytes}")
    if hash_words(content[_HASHED_FROM:]) != checksum:
        raise ValueError("has another checksum than its header says: it is damaged")
    offsets = np.frombuffer(content, "<u8", num_offsets, _HEADER.size)
    listed = np.frombuffer(content, "<u4", num_listed, _HEADER.size + 8 * num_offsets)
    if not num_offsets or offsets[0] != 0 or offsets[-1] != num_listed:
        raise ValueError(f"has offsets that do not run from 0 to its {num_listed} listed ids")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError("has offsets that do not ascend")
    return Lexicon(num_always, offsets.astype(np.int64), listed.astype(np.int64))


def hash_words(content: bytes) -> int:
    """Return the hash of the whole 8-byte words of some bytes, in order, as Boost's `hash_combine`."""
    found = 0
    for word in np.frombuffer(content, "<u8", len(content) // 8).tolist():
        found ^= (word + _GOLDEN_RATIO + (found << 6) + (found >> 2)) & _WORD
    return found
