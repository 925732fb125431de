"""A bundle on a GPU, as `SearchModel` uses it. Importing this module loads PyTorch."""

from collections.abc import Collection, Sequence
from typing import Any

import onnxruntime
import torch

from dragoman.bundle import Bundle
from dragoman.cuda.memory import MAX_BEAMS
from dragoman.cuda.model import CudaModel
from dragoman.cuda.search_lane import CudaSearchLane, SourceIds
from dragoman.decoding.loop import ONE_STEP, AnyLane, FinishedSource, StepLimit
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.graphs.backend import OnnxBackend
from dragoman.manifest import Manifest
from dragoman.native.instructions import NotSupported
from dragoman.providers import EXECUTION_PROVIDERS, Kernels, SessionOptions
from dragoman.scheduling.policy import Capacity
from dragoman.types import Method, SearchKind

MEASURED_DEVICES = frozenset({"cuda-sm90"})
MEASURED_HEADS = frozenset({(8, 32)})
"""Numbers of heads and their sizes. `auto` chooses these kernels only where they have been measured."""


def find_device(kernels: Kernels) -> str:
    """Return the name of the kernels on this machine's GPU.

    Raises:
        NotSupported: PyTorch finds none; with `auto`, or the kernels have not been measured there.
    """
    if not torch.cuda.is_available():
        raise NotSupported("PyTorch finds no NVIDIA GPU")
    major, minor = torch.cuda.get_device_capability()
    name = f"cuda-sm{major}{minor}"
    if kernels == "auto" and name not in MEASURED_DEVICES:
        raise NotSupported(f"they have not been measured on {name}: `native` chooses them")
    if kernels == "auto" and _has_cuda():
        raise NotSupported("they have not been measured beside onnxruntime-gpu: `native` chooses them")
    return name


def check_heads(manifest: Manifest, kernels: Kernels) -> None:
    """Check that `auto` may choose the kernels for a model's shape.

    Raises:
        NotSupported: the shape has not been measured.
    """
    heads = (manifest.sizes.heads, manifest.sizes.head_size)
    if kernels == "auto" and heads not in MEASURED_HEADS:
        raise NotSupported(f"{heads[0]} heads of {heads[1]} have not been measured: `native` chooses them")


def _has_cuda() -> bool:
    return EXECUTION_PROVIDERS["cuda"] in onnxruntime.get_available_providers()


class CudaBackend:
    """Greedy and beam searches on the GPU; scoring, sampling and constraints on onnxruntime."""

    why_not_native = ""

    def __init__(
        self,
        bundle: Bundle,
        session: SessionOptions,
        target: TargetVocabulary,
        kernels: Kernels,
        device: str = "cuda",
    ) -> None:
        """Load a bundle; a device `cpu` is for Triton's interpreter.

        Raises:
            BundleError: onnxruntime cannot load the graphs.
            NotSupported: there is no GPU, or there are no kernels for the bundle.
        """
        self.kernels = find_device(kernels) if device == "cuda" else f"cuda-{device}"
        check_heads(bundle.manifest, kernels)
        self._model = CudaModel(bundle, target, device)
        for beam_size in sorted({1, min(MAX_BEAMS, bundle.manifest.decoding.beam_size)}):
            self._model.prepare(beam_size)
        onnx_session = session if _has_cuda() else SessionOptions(session.threads)
        self._onnx = OnnxBackend(bundle, onnx_session, "", None)  # fp16 bundles have no shortlists

    def capacity(self, replicas: int) -> Capacity:
        """Return the limits of each replica."""
        return self._model.plan.capacity(replicas)

    def encode(self, sources: SourceIds) -> SourceIds:
        """Return the sources: lanes encode what has joined, in batches of their own."""
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
        self._lane.join(sources, self._onnx.encode(encoded))

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        return self._lane.step(limit)

    def remove(self, sources: Collection[Source]) -> None:
        self._lane.remove(sources)

    def best_ids(self, slot: int) -> list[int]:
        return self._lane.best_ids(slot)
