"""Source ids to cross K/V, once per source.

Shapes: B sources, S source tokens, H heads, D head size.
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

    arrays: list[NDArray[np.float32]]
    """Key and value of each decoder layer in turn, each [B, H, S, D]."""
    source_mask: NDArray[np.int32]
    """[B, S], 1 on tokens and 0 on padding."""
    candidates: Sequence[NDArray[np.int64]] = ()
    """Each source's shortlist, ascending; none where every token may be used."""

    @property
    def num_sources(self) -> int:
        return len(self.source_mask)


def padded_width(num_tokens: int) -> int:
    """Width S of a graph's source axis that has room for so many tokens."""
    return -(-num_tokens // SOURCE_WIDTH_MULTIPLE) * SOURCE_WIDTH_MULTIPLE


class Encoder:
    """The encoder graph. Safe to use from several threads."""

    def __init__(self, bundle: Bundle, options: SessionOptions) -> None:
        sizes = bundle.manifest.sizes
        outputs = encoder_outputs(sizes.decoder_layers)
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
        width = max(len(source) for source in sources)
        shape = (len(sources), padded_width(width))
        ids = np.full(shape, self._pad_id, np.int64)
        mask = np.zeros(shape, np.int32)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
            mask[row, : len(source)] = 1
        arrays = self._session.run(self._output_names, {"source_ids": ids, "source_mask": mask})
        return CrossKV([array[:, :, :width] for array in arrays], mask[:, :width])
