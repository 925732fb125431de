"""A bundle's graphs and shortlist, as the scheduler uses them."""

from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.process_memory import compacted_memory
from dragoman.graphs.session import SessionOptions
from dragoman.loading import open_shortlist
from dragoman.text.stemming import is_inflected
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import SearchKind


class SearchModel:
    """An encoder, and lanes that decode. Safe to use from several threads."""

    def __init__(self, bundle: Bundle, session: SessionOptions, tokenizer: Tokenizer) -> None:
        """Load the graphs.

        Args:
            bundle: verified.
            session: where the graphs run.
            tokenizer: of the target.

        Raises:
            BundleError: the shortlist does not fit the graphs.
            ProviderError: a provider cannot be used.
        """
        manifest = bundle.manifest
        with compacted_memory():
            self._encoder, self._decoder = Encoder(bundle, session), Decoder(bundle, session)
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

    def encode(self, sources: Sequence[Sequence[int]]) -> CrossKV:
        """Return the cross-attention keys and values of sources, and their shortlists if there are any."""
        cross = self._encoder.run(sources)
        if self._shortlist is not None:
            cross.candidates = [self._shortlist.candidates(source) for source in sources]
        return cross

    def open_lane(self, kind: SearchKind) -> AnyLane[CrossKV]:
        """Return an empty lane for a kind of search."""
        return open_lane(kind, self._decoder.open_steps(kind), self._target)
