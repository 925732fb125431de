"""Encode segments as the model reads them: by rules, and with words in capitals in other letters."""

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from dragoman.text.reading import ReadSegment, SegmentReader
from dragoman.text.reading_rules import read_by_rules
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Pair

Ids = list[int]


@dataclass(frozen=True, slots=True)
class EncodedSegment:
    """The ids of a segment, without those that its languages add."""

    ids: Ids
    as_read: ReadSegment | None = None
    """The text that the ids encode; None for the segment."""
    as_written: "EncodedSegment | None" = None
    """The same as written, if the better translation of the two is chosen."""


class SegmentEncoder:
    """Encodes the segments of some texts, each distinct one once. Not safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        reader: SegmentReader,
        pair: Pair,
        options: DecodingOptions,
        *,
        may_add_quote_spaces: bool,
    ) -> None:
        self._tokenizer = tokenizer
        self._reader = reader
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
        found: list[tuple[str, ReadSegment | None, ReadSegment | None]] = []
        for segment in dict.fromkeys(segments):
            if segment in self._encoded:
                continue
            by_rules = read_by_rules(segment, self._pair)
            read = segment if by_rules is None else by_rules.text
            as_read = self._read(read)
            found.append((segment, by_rules, as_read))
            if as_read is not None:
                texts.append(as_read.text)
            if as_read is None or not as_read.is_in_capitals:
                texts.append(read)
        ids = iter(self._tokenizer.encode(texts))
        for segment, by_rules, as_read in found:
            if as_read is None:
                self._encoded[segment] = EncodedSegment(next(ids), by_rules)
                continue
            self._encoded[segment] = EncodedSegment(
                next(ids),
                as_read if by_rules is None else as_read.of_read(by_rules),
                None if as_read.is_in_capitals else EncodedSegment(next(ids), by_rules),
            )

    def _read(self, segment: str) -> ReadSegment | None:
        """Return how the model may read a segment; None if only as it is."""
        options = self._options
        if options.target_prefix:  # the model continues it in the case that it has
            return None
        as_read = self._reader.read(
            segment, self._pair.source, may_add_quote_spaces=self._may_add_quote_spaces
        )
        if as_read is None or as_read.is_in_capitals or options.sampling is None:
            return as_read
        return None  # two random draws are not compared
