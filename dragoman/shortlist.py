"""The vocabulary shortlist: target pieces that a source can need, so that the others are never scored.

Jean, Cho, Memisevic and Bengio, "On Using Very Large Target Vocabulary for Neural Machine Translation",
ACL 2015, arXiv:1412.2007, section 3.3. docs/explanation/shortlist.md explains how ours is made.

The file, little-endian, nothing between the parts:

    magic           8 bytes   b"dragoSL1"
    counts          4 uint32  source_vocab, target_vocab, num_always, num_listed
    offsets         uint32    [source_vocab + 1]  piece s lists listed[offsets[s]:offsets[s + 1]]
    always          id        [num_always]        ascending: candidates of every source
    listed          id        [num_listed]        ascending within a piece

An id is a uint16 if the target vocabulary has at most 65536 pieces, else a uint32.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError

SHORTLIST_FILE = "shortlist.bin"
MAGIC = b"dragoSL1"
COUNTS = struct.Struct("<4I")
HEADER_BYTES = len(MAGIC) + COUNTS.size
MAX_UINT16_VOCAB = 2**16

Ids = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """Candidate pieces by source piece. Safe to use from several threads.

    Raises:
        ValueError: arrays contradict each other or name pieces outside the target's vocabulary.
    """

    target_vocab: int
    always: Ids
    """[num_always], ascending: candidates of every source."""
    offsets: NDArray[np.uint32]
    """[source_vocab + 1]: piece s lists listed[offsets[s]:offsets[s + 1]]."""
    listed: Ids
    """[num_listed], ascending within a piece."""
    _bounds: memoryview = field(init=False, repr=False)
    _is_always: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if problems := _problems(self):
            raise ValueError("; ".join(problems))
        is_always = np.zeros(self.target_vocab, np.bool_)
        is_always[self.always] = True
        object.__setattr__(self, "_is_always", is_always)
        object.__setattr__(self, "_bounds", self.offsets.data)  # faster to read item by item

    @property
    def source_vocab(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(
        cls,
        always: NDArray[np.int64],
        offsets: NDArray[np.int64],
        listed: NDArray[np.int64],
        target_vocab: int,
    ) -> "Shortlist":
        """Create a shortlist from arrays of any integer type, as described at its fields."""
        dtype = _id_dtype(target_vocab)
        return cls(target_vocab, always.astype(dtype), offsets.astype(np.uint32), listed.astype(dtype))

    @classmethod
    def load(cls, path: Path, source_vocab: int, target_vocab: int, eos_id: int) -> "Shortlist":
        """Read a shortlist.

        Args:
            path: the file, in its bundle.
            source_vocab: pieces of the bundle's source vocabulary.
            target_vocab: pieces of the bundle's target vocabulary.
            eos_id: the target's end-of-sentence id, which every source needs.

        Raises:
            BundleError: the file is missing or damaged, or belongs to other vocabularies.
        """
        try:
            return _parse(path.read_bytes(), source_vocab, target_vocab, eos_id)
        except OSError as error:
            problem = f"{path.name} cannot be read: {error.strerror}"
            raise BundleError(str(path.parent), (problem,)) from error
        except ValueError as error:
            raise BundleError(str(path.parent), (f"{path.name}: {error}",)) from error

    def save(self, path: Path) -> None:
        """Write the file that `load` reads."""
        counts = COUNTS.pack(self.source_vocab, self.target_vocab, len(self.always), len(self.listed))
        dtype = _id_dtype(self.target_vocab)
        path.write_bytes(
            b"".join(
                [
                    MAGIC,
                    counts,
                    self.offsets.astype("<u4").tobytes(),
                    self.always.astype(dtype).tobytes(),
                    self.listed.astype(dtype).tobytes(),
                ]
            )
        )

    def candidates(self, source_ids: Sequence[int]) -> NDArray[np.int64]:
        """Return the target pieces that this source can need: those of its pieces, and those of all sources.

        They depend only on the set of this source's ids.

        Args:
            source_ids: one source, from the source's vocabulary.

        Returns:
            int64 [candidates], ascending, without repetition.

        Raises:
            ValueError: an id is outside the source's vocabulary.
        """
        bounds, listed = self._bounds, self.listed
        is_candidate = self._is_always.copy()
        if len(source_ids):
            least, most = min(source_ids), max(source_ids)
            if least < 0 or most >= self.source_vocab:
                raise ValueError(f"ids {least} to {most} exceed the vocabulary of {self.source_vocab}")
            lists = [listed[bounds[piece] : bounds[piece + 1]] for piece in source_ids]
            is_candidate[np.concatenate(lists)] = True
        return is_candidate.nonzero()[0].astype(np.int64, copy=False)


def _parse(content: bytes, source_vocab: int, target_vocab: int, eos_id: int) -> Shortlist:
    """Parse a shortlist; raise a ValueError that says what is wrong."""
    if len(content) < HEADER_BYTES or not content.startswith(MAGIC):
        raise ValueError("not a shortlist that this release can read")
    found_source, found_target, num_always, num_listed = COUNTS.unpack_from(content, len(MAGIC))
    if (found_source, found_target) != (source_vocab, target_vocab):
        raise ValueError(
            f"made for vocabularies of {found_source} and {found_target} pieces, but the bundle's have"
            f" {source_vocab} and {target_vocab}"
        )
    dtype = _id_dtype(target_vocab)
    offsets_end = HEADER_BYTES + 4 * (source_vocab + 1)
    always_end = offsets_end + dtype.itemsize * num_always
    wanted_bytes = always_end + dtype.itemsize * num_listed
    if len(content) != wanted_bytes:
        raise ValueError(f"has {len(content)} bytes, but its header says {wanted_bytes}")
    shortlist = Shortlist(
        target_vocab=target_vocab,
        offsets=np.frombuffer(content[HEADER_BYTES:offsets_end], "<u4"),
        always=np.frombuffer(content[offsets_end:always_end], dtype),
        listed=np.frombuffer(content[always_end:], dtype),
    )
    if eos_id not in shortlist.always:
        raise ValueError(f"end of sentence (id {eos_id}) is not a candidate of every source")
    return shortlist


def _problems(shortlist: Shortlist) -> list[str]:
    """Return the problems of a shortlist's arrays; empty if there are none."""
    offsets, listed, always = shortlist.offsets, shortlist.listed, shortlist.always
    problems: list[str] = []
    for name, ids in (("always", always), ("listed", listed)):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < shortlist.target_vocab:
            problems.append(
                f"{name} holds ids {ids.min()} to {ids.max()}, but the target vocabulary has"
                f" {shortlist.target_vocab} pieces"
            )
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(listed):
        problems.append(f"offsets do not run from 0 to the {len(listed)} ids listed")
    elif (offsets[1:] < offsets[:-1]).any():
        problems.append("offsets do not ascend")
    elif not _is_ascending(listed, offsets[1:-1]):
        problems.append("a piece's ids do not ascend")
    if not _is_ascending(always, np.empty(0, np.uint32)):
        problems.append("always: ids do not ascend")
    return problems


def _is_ascending(ids: Ids, fresh_starts: NDArray[np.uint32]) -> bool:
    """Return whether every id is above the one before, except where a new list starts."""
    is_above = np.ones(len(ids) + 1, np.bool_)  # the last entry is for empty lists at the end
    is_above[1:-1] = ids[1:] > ids[:-1]
    is_above[fresh_starts] = True
    return bool(is_above.all())


def _id_dtype(target_vocab: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.dtype("<u2") if target_vocab <= MAX_UINT16_VOCAB else np.dtype("<u4")
