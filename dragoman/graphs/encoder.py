"""The encoder graph: source ids to cross K/V, once per source.

Shapes: L key and value of each decoder layer in turn, B sources, S source tokens, H heads, D head size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import OrtValue

from dragoman.bundle import Bundle
from dragoman.contract import ENCODER_FILE, encoder_inputs, encoder_outputs, padded_width
from dragoman.graphs.session import DEVICE_ID, open_session
from dragoman.providers import SessionOptions


@dataclass(slots=True)
class CrossKV:
    """Cross K/V of a batch of sources, as wide as the longest of them."""

    memory: Any
    """Key and value of each decoder layer in turn, [L, B, H, S, D]: an array, or on a device an `OrtValue`
    with padded S."""
    lengths: NDArray[np.int64]
    """Tokens of each source, [B]; values beyond them are meaningless."""
    candidates: Sequence[NDArray[np.int64]] = ()
    """Each source's shortlist, ascending; empty if every token may be used."""

    @property
    def num_sources(self) -> int:
        return len(self.lengths)


class Encoder:
    """The encoder graph. Safe to use from several threads."""

    def __init__(self, bundle: Bundle, options: SessionOptions) -> None:
        outputs = encoder_outputs(bundle.manifest.cache_dtype)
        self._session = open_session(bundle, ENCODER_FILE, (encoder_inputs(), outputs), options)
        self._output_names = [port.name for port in outputs]
        self._device_type = options.device_type
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
        inputs: dict[str, NDArray[Any]] = {"source_ids": ids, "source_lengths": lengths.astype(np.int32)}
        if self._device_type is not None:
            return CrossKV(self._run_on_device(inputs, self._device_type), lengths)
        (memory,) = self._session.run(self._output_names, inputs)
        return CrossKV(memory[:, :, :, :width], lengths)

    def _run_on_device(self, inputs: Mapping[str, NDArray[Any]], device_type: str) -> OrtValue:
        """Run the graph and leave the outputs on the device."""
        binding = self._session.io_binding()
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        for name in self._output_names:
            binding.bind_output(name, device_type, DEVICE_ID)
        binding.synchronize_inputs()
        self._session.run_with_iobinding(binding)
        (memory,) = binding.get_outputs()
        return memory
