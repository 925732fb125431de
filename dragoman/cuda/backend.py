"""A bundle on a GPU, as `SearchModel` uses it. Importing this module loads PyTorch."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.cuda.memory import MAX_BEAMS
from dragoman.cuda.model import CudaModel
from dragoman.cuda.search_lane import CudaSearchLane, SourceIds
from dragoman.decoding.loop import AnyLane, FinishedSource
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.graphs.backend import OnnxBackend
from dragoman.native.instructions import NotSupported
from dragoman.providers import EXECUTION_PROVIDERS, SessionOptions
from dragoman.scheduling.policy import Capacity
from dragoman.types import Method, SearchKind


def find_device() -> str:
    """Return the name of the kernels on this machine's GPU.

    Raises:
        NotSupported: PyTorch finds none.
    """
    if not torch.cuda.is_available():
        raise NotSupported("PyTorch finds no NVIDIA GPU")
    major, minor = torch.cuda.get_device_capability()
    return f"cuda-sm{major}{minor}"


class CudaBackend:
    """Greedy and beam searches on the GPU; scoring, sampling and constraints on onnxruntime."""

    why_not_native = ""

    def __init__(
        self, bundle: Bundle, session: SessionOptions, target: TargetVocabulary, device: str = "cuda"
    ) -> None:
        """Load a bundle; a device `cpu` is for Triton's interpreter.

        Raises:
            BundleError: onnxruntime cannot load the graphs.
            NotSupported: there is no GPU, or there are no kernels for the bundle.
        """
        self.kernels = find_device() if device == "cuda" else f"cuda-{device}"
        self._model = CudaModel(bundle, target, device)
        for beam_size in sorted({1, min(MAX_BEAMS, bundle.manifest.decoding.beam_size)}):
            self._model.prepare(beam_size)
        has_cuda = EXECUTION_PROVIDERS["cuda"] in onnxruntime.get_available_providers()
        self._onnx = OnnxBackend(bundle, session if has_cuda else SessionOptions(session.threads), "")

    def capacity(self, replicas: int) -> Capacity:
        """Return the limits of each replica."""
        return self._model.plan.capacity(replicas)

    def encode(self, sources: SourceIds, candidates: Sequence[NDArray[np.int64]]) -> SourceIds:
        """Return the sources: lanes encode what has joined, in batches of their own."""
        del candidates  # fp16 bundles have no shortlists
        return sources

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> AnyLane[SourceIds]:
        if kind.method is Method.SEARCH and kind.beam_size <= MAX_BEAMS:
            return CudaSearchLane(self._model, kind)
        return _OnnxLane(self._onnx, kind, target)


class _OnnxLane:
    """A lane on onnxruntime whose sources it encodes when they join."""

    def __init__(self, onnx: OnnxBackend, kind: SearchKind, target: TargetVocabulary) -> None:
        self._onnx = onnx
        self._lane: AnyLane[Any] = onnx.open_lane(kind, target)
        self.kind = kind

    @property
    def sources(self) -> Sequence[Source]:
        return self._lane.sources

    @property
    def num_steps(self) -> int:
        return self._lane.num_steps

    def join(self, sources: Sequence[Source], encoded: SourceIds) -> None:
        self._lane.join(sources, self._onnx.encode(encoded, ()))

    def step(self, max_steps: int = 1) -> list[FinishedSource]:
        return self._lane.step(max_steps)

    def remove(self, sources: Collection[Source]) -> None:
        self._lane.remove(sources)

    def best_ids(self, slot: int) -> list[int]:
        return self._lane.best_ids(slot)
