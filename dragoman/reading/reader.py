"""The way from a segment to the ids that the model reads: the only caller of a source's tokenizer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.reading.read_text import RewordedText
from dragoman.reading.reading_file import AS_WRITTEN, Reading
from dragoman.reading.respelling import Respeller
from dragoman.text.tokenizer import Tokenizer

Ids = list[int]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a request that change reading."""

    as_written: bool = False
    """Whether segments are read as they are: the model continues a given translation in their spelling."""
    may_choose: bool = True
    """Whether translations of two spellings may be compared: two random draws are not."""
    may_add_quote_spaces: bool = True
    """Whether spaces may follow opening quotation marks: terms are marked by offsets of the segment."""


class ReadSegment(NamedTuple):
    """The ids of a segment, without those that its languages add."""

    ids: Ids
    read: RewordedText | None = None
    """The text that the ids encode; None for the segment."""
    as_written: "ReadSegment | None" = None
    """The same without respelled words, if the better translation of the two is chosen."""


class Reader:
    """Reads segments for a bundle's model. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, reading: Reading = AS_WRITTEN) -> None:
        self._tokenizer = tokenizer
        self._reading = reading
        self._respeller = Respeller(tokenizer.word_cost)
        self.encode = tokenizer.encode
        """Returns the ids of texts as they are written, such as the parts around terms."""
        self.spans = tokenizer.source_spans
        """Returns the span of each piece of a text that was read."""
        self.unknown_share = tokenizer.unknown_share
        """Returns the share of unknown letters of a text that was read."""
        self.reading_of = reading.of
        """Returns what is read in place of texts of a language."""

    def read(self, segment: str, language: str, options: ReadOptions = ReadOptions()) -> ReadSegment:
        """Return what the model reads for a segment of a language, with the offsets in the segment."""
        return self.read_all([segment], language, options)[segment]

    def read_all(
        self, segments: Iterable[str], language: str, options: ReadOptions
    ) -> dict[str, ReadSegment]:
        """Return the same for several segments, which are encoded together."""
        distinct = list(dict.fromkeys(segments))
        if options.as_written:
            return dict(zip(distinct, map(ReadSegment, self._tokenizer.encode(distinct)), strict=True))
        every_read = self._reading.read_all(distinct, language)
        texts = [
            segment if read is None else read.text for segment, read in zip(distinct, every_read, strict=True)
        ]
        every_respelled: Sequence[RewordedText | None] = [None] * len(texts)
        if self.reading_of(language).has_respelling:
            every_respelled = [self._respell(text, language, options) for text in texts]
        ids = self._tokenizer.encode([*texts, *(each.text for each in every_respelled if each is not None)])
        others = iter(ids[len(distinct) :])
        encoded: dict[str, ReadSegment] = {}
        for segment, read, respelled, own in zip(distinct, every_read, every_respelled, ids, strict=False):
            encoded[segment] = as_written = ReadSegment(own, read)
            if respelled is not None:
                encoded[segment] = ReadSegment(
                    next(others),
                    respelled if read is None else respelled.of_read(read),
                    None if respelled.is_in_capitals else as_written,
                )
        return encoded

    def _respell(self, text: str, language: str, options: ReadOptions) -> RewordedText | None:
        """Return another spelling of a text; None if the model may read it only as it is."""
        respelled = self._respeller.respell(text, language, may_add_quote_spaces=options.may_add_quote_spaces)
        return respelled if respelled is None or respelled.is_in_capitals or options.may_choose else None
