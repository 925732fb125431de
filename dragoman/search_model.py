"""A bundle's graphs and shortlist as the scheduler uses them, on onnxruntime or the engine's own kernels."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.decoding.lanes import AnyStepper, open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.errors import KernelsError
from dragoman.graphs.decoder import Decoder, DecoderSteps
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.process_memory import compacted_memory
from dragoman.graphs.session import SessionOptions
from dragoman.loading import open_shortlist
from dragoman.native.model import NativeModel
from dragoman.native.program import NotSupported
from dragoman.native.search_state import EncodedSources, NativeEncoder, NativeSteps
from dragoman.providers import ONNXRUNTIME, Kernels
from dragoman.text.stemming import is_inflected
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import SearchKind


class Backend(Protocol):
    """Runs the encoder and decoder steps. Safe to use from several threads, each with its own steps."""

    @property
    def kernels(self) -> str:
        """Name of what runs the graphs: `onnxruntime`, or the engine's kernels for this processor."""
        ...

    def encode(self, sources: Sequence[Sequence[int]], candidates: Sequence[NDArray[np.int64]]) -> Any:
        """Encode sources, with the shortlist of each if there are any."""
        ...

    def open_steps(self, kind: SearchKind) -> AnyStepper[Any]:
        """Return steps without sources."""
        ...


class OnnxBackend:
    """The graphs on onnxruntime."""

    kernels = ONNXRUNTIME

    def __init__(self, bundle: Bundle, session: SessionOptions) -> None:
        with compacted_memory():
            self._encoder, self._decoder = Encoder(bundle, session), Decoder(bundle, session)

    def encode(self, sources: Sequence[Sequence[int]], candidates: Sequence[NDArray[np.int64]]) -> CrossKV:
        cross = self._encoder.run(sources)
        cross.candidates = candidates
        return cross

    def open_steps(self, kind: SearchKind) -> DecoderSteps:
        return self._decoder.open_steps(kind)


class NativeBackend:
    """The graphs on the engine's own kernels."""

    def __init__(self, bundle: Bundle) -> None:
        with compacted_memory():
            self._model = NativeModel(bundle)
        self._encoder = NativeEncoder(self._model)
        self.kernels = self._model.kernels

    def encode(
        self, sources: Sequence[Sequence[int]], candidates: Sequence[NDArray[np.int64]]
    ) -> EncodedSources:
        return self._encoder.run(sources, candidates)

    def open_steps(self, kind: SearchKind) -> NativeSteps:
        return NativeSteps(self._model, kind)


def open_backend(bundle: Bundle, session: SessionOptions, kernels: Kernels) -> Backend:
    """Load the graphs.

    Args:
        bundle: verified.
        session: where onnxruntime runs them; the engine's kernels are for one thread on the CPU.
        kernels: `auto` for the engine's kernels wherever they can run the bundle.

    Raises:
        BundleError: the graphs cannot be loaded.
        KernelsError: the kernels are required, and cannot run the bundle.
        ProviderError: a provider cannot be used.
    """
    if kernels != ONNXRUNTIME:
        try:
            _check_session(session)
            return NativeBackend(bundle)
        except NotSupported as error:
            if kernels != "auto":
                raise KernelsError(kernels, str(bundle.path), str(error)) from error
    return OnnxBackend(bundle, session)


def _check_session(session: SessionOptions) -> None:
    if session.device_type is not None:
        raise NotSupported(f"they do not run on {session.providers[0]}")
    if session.threads != 1:
        raise NotSupported(f"a replica has one thread with them, not {session.threads}")


class SearchModel:
    """An encoder, and lanes that decode. Safe to use from several threads."""

    def __init__(
        self, bundle: Bundle, session: SessionOptions, tokenizer: Tokenizer, kernels: Kernels = "auto"
    ) -> None:
        """Load the graphs.

        Args:
            bundle: verified.
            session: where the graphs run.
            tokenizer: of the target.
            kernels: what runs the graphs; see `open_backend`.

        Raises:
            BundleError: the shortlist does not fit the graphs.
            KernelsError: the kernels cannot run the bundle.
            ProviderError: a provider cannot be used.
        """
        manifest = bundle.manifest
        self._backend = open_backend(bundle, session, kernels)
        self._target = TargetVocabulary(
            manifest.special_ids.eos,
            manifest.sizes.target_vocab,
            tokenizer.byte_ids,
            tokenizer.text_of,
            is_inflected,
        )
        self._shortlist = open_shortlist(bundle)

    @property
    def has_shortlist(self) -> bool:
        return self._shortlist is not None

    @property
    def kernels(self) -> str:
        """Name of what runs the graphs: `onnxruntime`, or the engine's kernels for this processor."""
        return self._backend.kernels

    def encode(self, sources: Sequence[Sequence[int]]) -> Any:
        """Return the encoder's output for sources, with their shortlists if there are any."""
        listed = self._shortlist
        candidates = [] if listed is None else [listed.candidates(source) for source in sources]
        return self._backend.encode(sources, candidates)

    def open_lane(self, kind: SearchKind) -> AnyLane[Any]:
        """Return an empty lane for a kind of search."""
        return open_lane(kind, self._backend.open_steps(kind), self._target)
