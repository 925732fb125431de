"""Decoder steps on onnxruntime, with self K/V written in place.

Shapes: B sources, R rows (B x beams, the beams of a source side by side), T capacity of the caches in
positions, S source tokens, H heads, D head size, K candidates.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import OrtValue

from dragoman import contract
from dragoman.bundle import Bundle
from dragoman.graphs.encoder import CrossKV
from dragoman.graphs.session import SessionOptions, open_session

FIRST_CAPACITY = 32
"""Positions a cache holds at first; doubled when they are full."""


class Decoder:
    """The decoder graph. Safe to use from several threads, each with steps of its own."""

    def __init__(self, bundle: Bundle, options: SessionOptions) -> None:
        sizes = bundle.manifest.sizes
        self.layers = sizes.decoder_layers
        self.row_shape = (sizes.heads, sizes.head_size)
        ports = (contract.decoder_inputs(self.layers), contract.decoder_outputs(self.layers))
        self.session = open_session(bundle, contract.DECODER_FILE, ports, options)
        self.cross_names = [port.name for port in contract.encoder_outputs(self.layers)]
        self.cache_names = [
            pair
            for layer in range(self.layers)
            for pair in (
                (contract.self_key(layer), contract.new_self_key(layer)),
                (contract.self_value(layer), contract.new_self_value(layer)),
            )
        ]

    def start(self, cross: CrossKV, beam_size: int) -> "DecoderSteps":
        """Begin to decode a batch; `cross` now belongs to the steps."""
        return DecoderSteps(self, cross, beam_size)


class DecoderSteps:
    """The running state of one batch: a `Stepper` for the search. For one thread."""

    def __init__(self, decoder: Decoder, cross: CrossKV, beam_size: int) -> None:
        self._decoder = decoder
        self._cross = cross
        self._beam_size = beam_size
        self._num_rows = cross.num_sources * beam_size
        heads, head_size = decoder.row_shape
        self._caches = [
            np.zeros((self._num_rows, heads, FIRST_CAPACITY, head_size), np.float32)
            for _ in decoder.cache_names
        ]
        self._lengths = np.zeros(self._num_rows, np.int32)
        self._binding = decoder.session.io_binding()
        self._bound: list[OrtValue] = []
        self._best_logprobs = np.empty((0, 0), np.float32)
        self._best_ids = np.empty((0, 0), np.int64)
        self._is_bound = False

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R], the tokens picked one step ago.
            num_best: K.

        Returns:
            Log-probabilities float32 [R, K], best first, and their ids int64 [R, K].
        """
        total_length = int(self._lengths.max()) + 1
        if total_length > self._caches[0].shape[2]:
            self._grow()
        if not self._is_bound or self._best_ids.shape[1] != num_best:
            self._bind(num_best)
        binding = self._binding
        binding.bind_cpu_input("last_ids", np.ascontiguousarray(last_ids))
        binding.bind_cpu_input("total_length", np.array(total_length, np.int32))
        self._decoder.session.run_with_iobinding(binding)
        self._lengths[: self._num_rows] += 1
        return self._best_logprobs.copy(), self._best_ids.copy()

    def select(self, rows: NDArray[np.int64]) -> None:
        """Go on with `len(rows)` rows: new row i continues old row rows[i].

        Groups of `beam_size` rows stay groups of one source; with fewer groups than before, sources leave.
        Only what changes its place is copied.
        """
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        used = int(self._lengths[: self._num_rows].max())
        for cache in self._caches:
            cache[moved, :, :used] = cache[rows[moved], :, :used]
        self._lengths[moved] = self._lengths[rows[moved]]
        sources = rows[:: self._beam_size] // self._beam_size
        self._select_sources(sources)
        if len(rows) != self._num_rows:
            self._num_rows = len(rows)
            self._is_bound = False

    def _select_sources(self, sources: NDArray[np.int64]) -> None:
        moved = np.flatnonzero(sources != np.arange(len(sources)))
        for memory in (*self._cross.arrays, self._cross.source_mask):
            memory[moved] = memory[sources[moved]]

    def _grow(self) -> None:
        """Double the caches' capacity."""
        for index, cache in enumerate(self._caches):
            capacity = cache.shape[2]
            heads, head_size = self._decoder.row_shape
            grown = np.zeros((self._num_rows, heads, 2 * capacity, head_size), np.float32)
            grown[:, :, :capacity] = cache[: self._num_rows]
            self._caches[index] = grown
        self._is_bound = False

    def _bind(self, num_best: int) -> None:
        """Tell onnxruntime where everything lies; needed anew when rows, candidates or capacity change."""
        binding = self._decoder.session.io_binding()
        num_sources = self._num_rows // self._beam_size
        self._best_logprobs = np.empty((self._num_rows, num_best), np.float32)
        self._best_ids = np.empty((self._num_rows, num_best), np.int64)
        best_logprobs = OrtValue.ortvalue_from_numpy(self._best_logprobs)
        best_ids = OrtValue.ortvalue_from_numpy(self._best_ids)
        binding.bind_ortvalue_output("best_logprobs", best_logprobs)
        binding.bind_ortvalue_output("best_ids", best_ids)
        inputs: dict[str, NDArray[Any]] = {
            "num_best": np.array(num_best, np.int64),
            "source_mask": self._cross.source_mask[:num_sources],
            "lengths": self._lengths[: self._num_rows],
        }
        for name, memory in zip(self._decoder.cross_names, self._cross.arrays, strict=True):
            inputs[name] = memory[:num_sources]
        values = {name: OrtValue.ortvalue_from_numpy(memory) for name, memory in inputs.items()}
        for (past, new), cache in zip(self._decoder.cache_names, self._caches, strict=True):
            values[past] = OrtValue.ortvalue_from_numpy(cache[: self._num_rows])
            binding.bind_ortvalue_output(new, values[past])
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        self._binding = binding
        # The binding does not keep the arrays alive.
        self._bound = [*values.values(), best_logprobs, best_ids]
        self._is_bound = True
