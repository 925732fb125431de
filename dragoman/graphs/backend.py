"""A bundle's graphs on onnxruntime, as `SearchModel` uses them. Importing this module loads onnxruntime."""

from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import TargetVocabulary
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
        self._shortlist = shortlist
        with compacted_memory():
            self._encoder, self._decoder = Encoder(bundle, session), Decoder(bundle, session)

    def encode(self, sources: Sequence[Sequence[int]]) -> CrossKV:
        cross = self._encoder.run(sources)
        if self._shortlist is not None:
            cross.candidates = [self._shortlist.candidates(source) for source in sources]
        return cross

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> AnyLane[CrossKV]:
        return open_lane(kind, self._decoder.open_steps(kind), target)

    def capacity(self, replicas: int) -> None:
        del replicas
