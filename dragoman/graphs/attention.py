"""Attention to the source, computed from a step's queries and the cross-attention keys.

The attention operators do not output their weights. A tiny graph of the engine, next to the decoder graph,
computes those of one layer's heads (`python -m export.row_graphs` writes it). It runs only in forced
decoding: a search does not pay for it. The manifest names the layer and heads.

A recurrent decoder computes its attention in each step and returns it; nothing runs besides.

Shapes: R rows, S source tokens, H heads, D head size, N = H x D.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding, OrtValue

from dragoman import contract
from dragoman.graphs.caches import CrossCaches
from dragoman.graphs.device import FOLDER
from dragoman.graphs.session import DEVICE_ID, new_session
from dragoman.manifest import Manifest
from dragoman.providers import SessionOptions

ATTENTION_GRAPH = "attention"


class AttentionGraph:
    """The tiny graph for one bundle's layer and heads. Safe to use from several threads."""

    def __init__(self, manifest: Manifest, options: SessionOptions) -> None:
        if options.is_gpu:  # TensorRT would build an engine for each size
            options = replace(options, providers=("cuda",))
        sizes, alignment = manifest.sizes, manifest.alignment
        self._heads = np.array(alignment.heads, np.int64)
        names = contract.cross_names(sizes.decoder_layers)
        self._ports = [("keys" if name == contract.cross_key(alignment.layer) else "", "") for name in names]
        self._device_type = options.device_type or "cpu"
        self._query_dtype = np.float16 if manifest.cache_dtype == "float16" else np.float32
        self._width = sizes.attention_width
        self._session = new_session(FOLDER / f"{ATTENTION_GRAPH}.{manifest.cache_dtype}.onnx", options)

    def bind(self, binding: IOBinding, cross: CrossCaches, num_rows: int) -> "BoundAttention":
        """Bind a step's queries as the input of the tiny graph.

        Args:
            binding: binding of a run of the decoder graph.
            cross: cross K/V that its rows read.
            num_rows: R.
        """
        shape = [num_rows, 1, self._width]
        queries = OrtValue.ortvalue_from_shape_and_type(
            shape, self._query_dtype, self._device_type, DEVICE_ID
        )
        binding.bind_ortvalue_output(contract.QUERIES, queries)
        run_binding = self._session.io_binding()
        run_binding.bind_ortvalue_input("queries", queries)
        inputs = {"source_ends": cross.ends, "heads": self._heads}
        for name, array in inputs.items():
            run_binding.bind_cpu_input(name, array)
        weights = np.empty((num_rows, cross.width), np.float32)
        output = OrtValue.ortvalue_from_numpy(weights)
        run_binding.bind_ortvalue_output("attention", output)
        kept = [queries, inputs, output, cross.bind(run_binding, self._ports)]
        return BoundAttention(self, run_binding, weights, kept)

    def run(self, binding: IOBinding) -> None:
        binding.synchronize_inputs()
        self._session.run_with_iobinding(binding)


class BoundAttention:
    """The tiny graph's binding for one number of rows."""

    def __init__(
        self, attention: AttentionGraph, binding: IOBinding, weights: NDArray[np.float32], kept: list[Any]
    ) -> None:
        self._attention = attention
        self._binding = binding
        self._weights = weights
        self._kept = kept  # objects that the binding does not keep alive

    def run(self) -> NDArray[np.float32]:
        """Return the attention of the step that has just run, [R, S]. The same array each time."""
        self._attention.run(self._binding)
        return self._weights


class ReturningDecoder:
    """Attention of a decoder graph that returns it."""

    def bind(self, binding: IOBinding, cross: CrossCaches, num_rows: int) -> "ReturnedAttention":
        """Bind a step's attention as an output of its own run; like `AttentionGraph.bind`."""
        weights = np.empty((num_rows, cross.width), np.float32)
        value = OrtValue.ortvalue_from_numpy(weights)
        binding.bind_ortvalue_output(contract.ATTENTION, value)
        return ReturnedAttention(weights, value)


class ReturnedAttention:
    """The output of a step of one number of rows."""

    def __init__(self, weights: NDArray[np.float32], value: OrtValue) -> None:
        self._weights = weights
        self._kept = value  # the binding does not keep it alive

    def run(self) -> NDArray[np.float32]:
        """Return the attention of the step that has just run, [R, S]. The same array each time."""
        return self._weights
