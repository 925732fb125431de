"""A bundle's graphs on onnxruntime, as `SearchModel` uses them. Importing this module loads onnxruntime."""

import threading
from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.forking import never_free, renew_after_fork
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.process_memory import compacted_memory
from dragoman.providers import ONNXRUNTIME, SessionOptions
from dragoman.shortlist import Shortlist
from dragoman.types import SearchKind


class OnnxBackend:
    """The graphs on onnxruntime."""

    kernels = ONNXRUNTIME

    def __init__(
        self, bundle: Bundle, session: SessionOptions, why_not_native: str, shortlist: Shortlist | None
    ) -> None:
        self.why_not_native = why_not_native
        self._bundle, self._session = bundle, session
        self._shortlist = shortlist
        self._loading = threading.Lock()
        self._loaded: tuple[Encoder, Decoder] | None = None
        self._graphs()
        renew_after_fork(self)

    def renew(self) -> None:
        """Load the graphs again in a forked process, when they are used: sessions have threads and locks."""
        never_free(self._loaded)
        self._loading = threading.Lock()
        self._loaded = None

    def _graphs(self) -> tuple[Encoder, Decoder]:
        with self._loading:
            if self._loaded is None:
                with compacted_memory():
                    self._loaded = Encoder(self._bundle, self._session), Decoder(self._bundle, self._session)
            return self._loaded

    def encode(self, sources: Sequence[Sequence[int]]) -> CrossKV:
        encoder, _ = self._graphs()
        cross = encoder.run(sources)
        if self._shortlist is not None:
            cross.candidates = [self._shortlist.candidates(source) for source in sources]
        return cross

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> AnyLane[CrossKV]:
        _, decoder = self._graphs()
        return open_lane(kind, decoder.open_steps(kind), target)

    def capacity(self, replicas: int) -> None:
        del replicas
