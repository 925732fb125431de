"""Encode segments as the model reads them: reworded, and with words in capitals respelled."""

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from dragoman.text.respelling import RespelledSegment, Respeller
from dragoman.text.rewording import reword
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Pair

Ids = list[int]


@dataclass(frozen=True, slots=True)
class EncodedSegment:
    """The ids of a segment, without those that its languages add."""

    ids: Ids
    respelled: RespelledSegment | None = None
    """The text that the ids encode; None for the segment."""
    as_written: "EncodedSegment | None" = None
    """The same without respelled words, if the better translation of the two is chosen."""


class SegmentEncoder:
    """Encodes the segments of some texts, each distinct one once. Not safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        respeller: Respeller,
        pair: Pair,
        options: DecodingOptions,
        *,
        may_add_quote_spaces: bool,
    ) -> None:
        self._tokenizer = tokenizer
        self._respeller = respeller
        self._pair = pair
        self._options = options
        self._may_add_quote_spaces = may_add_quote_spaces
        self._encoded: dict[str, EncodedSegment] = {}

    def __getitem__(self, segment: str) -> EncodedSegment:
        """Return an encoded segment; encode it if it is new."""
        if segment not in self._encoded:
            self.encode([segment])
        return self._encoded[segment]

    def encode(self, segments: Iterable[str]) -> None:
        """Encode segments together, those that are new."""
        texts: list[str] = []
        found: list[tuple[str, RespelledSegment | None, RespelledSegment | None]] = []
        for segment in dict.fromkeys(segments):
            if segment in self._encoded:
                continue
            reworded = reword(segment, self._pair)
            read = segment if reworded is None else reworded.text
            respelled = self._respell(read)
            found.append((segment, reworded, respelled))
            if respelled is not None:
                texts.append(respelled.text)
            if respelled is None or not respelled.is_in_capitals:
                texts.append(read)
        ids = iter(self._tokenizer.encode(texts))
        for segment, reworded, respelled in found:
            if respelled is None:
                self._encoded[segment] = EncodedSegment(next(ids), reworded)
                continue
            self._encoded[segment] = EncodedSegment(
                next(ids),
                respelled if reworded is None else respelled.of_respelled(reworded),
                None if respelled.is_in_capitals else EncodedSegment(next(ids), reworded),
            )

    def _respell(self, segment: str) -> RespelledSegment | None:
        """Return how the model may read a segment; None if only as it is."""
        options = self._options
        if options.target_prefix:  # the model continues it in the case that it has
            return None
        respelled = self._respeller.respell(
            segment, self._pair.source, may_add_quote_spaces=self._may_add_quote_spaces
        )
        if respelled is None or respelled.is_in_capitals or options.sampling is None:
            return respelled
        return None  # two random draws are not compared
