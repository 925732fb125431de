"""Source ids to cross K/V, once per source.

Shapes: L key and value of each decoder layer in turn, B sources, S source tokens, H heads, D head size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.contract import ENCODER_FILE, SOURCE_WIDTH_MULTIPLE, encoder_inputs, encoder_outputs
from dragoman.graphs.session import SessionOptions, open_session


@dataclass(slots=True)
class CrossKV:
    """What the decoder reads of a batch of sources, as wide as the longest of them."""

    memory: NDArray[np.int8 | np.float32]
    """Key and value of each decoder layer in turn, [L, B, H, S, D]."""
    lengths: NDArray[np.int64]
    """Tokens of each source, [B]; what lies beyond them means nothing."""
    candidates: Sequence[NDArray[np.int64]] = ()
    """Each source's shortlist, ascending; none where every token may be used."""

    @property
    def num_sources(self) -> int:
        return len(self.lengths)


def padded_width(num_tokens: int) -> int:
    """Width S of a graph's source axis that has room for so many tokens."""
    return -(-num_tokens // SOURCE_WIDTH_MULTIPLE) * SOURCE_WIDTH_MULTIPLE


class Encoder:
    """The encoder graph. Safe to use from several threads."""

    def __init__(self, bundle: Bundle, options: SessionOptions) -> None:
        outputs = encoder_outputs(bundle.manifest.cache_dtype)
        self._session = open_session(bundle, ENCODER_FILE, (encoder_inputs(), outputs), options)
        self._output_names = [port.name for port in outputs]
        self._pad_id = bundle.manifest.special_ids.pad

    def run(self, sources: Sequence[Sequence[int]]) -> CrossKV:
        """Encode sources together.

        Args:
            sources: B lists of ids, each ending in the end-of-sentence id; padded here.

        Returns:
            The batch's cross K/V.
        """
        lengths = np.array([len(source) for source in sources], np.int64)
        width = int(lengths.max())
        shape = (len(sources), padded_width(width))
        ids = np.full(shape, self._pad_id, np.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        mask = (np.arange(shape[1]) < lengths[:, None]).astype(np.int32)
        (memory,) = self._session.run(self._output_names, {"source_ids": ids, "source_mask": mask})
        return CrossKV(memory[:, :, :, :width], lengths)
