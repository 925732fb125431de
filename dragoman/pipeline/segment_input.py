"""The input of a segment: the ids that are searched for, and other ways to read it."""

from typing import NamedTuple

from dragoman.pipeline.terminology import SegmentTerms
from dragoman.reading.read_text import RewordedText
from dragoman.reading.reader import Ids
from dragoman.types import FinishReason, Span

IdsAround = tuple[tuple[int, ...], tuple[int, ...]]


class SegmentInput(NamedTuple):
    """A segment to search for."""

    number: int
    """Position of its first sentence among the searched sentences of its text."""
    ids: Ids
    has_replacement: bool = False
    """Whether it contains U+FFFD, the replacement character."""
    terms: SegmentTerms | None = None
    """Terms that its translation must contain."""
    spans: tuple[Span, ...] | None = None
    """Span in the segment of each id between those that its languages add; None for the tokenizer's own."""
    read: RewordedText | None = None
    """Text that the model reads; None for the segment."""
    as_written: "SegmentInput | None" = None
    """The same as written, if the better translation of the two is to be chosen."""
    around: IdsAround = ((), ())
    """Ids before and after those of the segment."""
    sentences: tuple["SegmentInput", ...] = ()
    """Its sentences, if they are several: each is translated alone if a translation of all has lost one."""
    after_context: "SegmentInput | None" = None
    """The same after the sentence before the text, whose translation is cut off."""

    @property
    def has_quote_spaces(self) -> bool:
        """Whether the model may read spaces after quotation marks that the segment does not have there."""
        return self.spans is not None or (self.read is not None and self.read.has_quote_spaces)

    def text(self, segment: str) -> str:
        """Return the text that the model reads for the segment."""
        return segment if self.read is None else self.read.text

    def with_control(self, control: int) -> "SegmentInput":
        """Return the same with a control id before the segment's own ids."""
        before, after = self.around
        return self._replace(
            ids=[*before, control, *self.ids[len(before) :]],
            around=((*before, control), after),
            as_written=None if self.as_written is None else self.as_written.with_control(control),
            sentences=tuple(sentence.with_control(control) for sentence in self.sentences),
            after_context=None if self.after_context is None else self.after_context.with_control(control),
        )


Input = SegmentInput | FinishReason
"""The input of a segment, or the reason why it is copied instead."""
