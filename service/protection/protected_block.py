"""A block of text on its way through the engine: tries until no protected span is missing.

First the model sees stand-ins. Spans that are missing in the translation are taken out for the next try, and
all of them for the last: these come back by construction.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.types import Translation
from service.markup.blocks import Block
from service.protection.patterns import ProtectedSpan, SpanForm, find_numbers
from service.protection.span_removal import take_out
from service.protection.stand_ins import ShownText, show

MAX_TRIES = 3


@dataclass(slots=True, eq=False)
class ProtectedBlock:
    """A block with protected spans, and its translation so far."""

    block: Block
    spans: tuple[ProtectedSpan, ...]
    num_tries: int = 0
    taken: frozenset[int] = frozenset()
    """Indexes of spans that are taken out."""
    _translation: Translation | None = None
    rest: Block = field(init=False)
    """The block with marks in place of the spans that are taken out."""
    _shown: ShownText = field(init=False)
    _remaining: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._prepare(self._tags)
        if self._shown.is_ambiguous and self.spans:
            self._prepare(self._all)

    @property
    def done(self) -> Translation:
        """Translation of `rest.text`, once no span is missing."""
        if self._translation is None:
            raise ValueError("the block is not translated yet")
        return self._translation

    @property
    def text(self) -> str:
        """Text for the engine."""
        return self._shown.text

    @property
    def needs_alignment(self) -> bool:
        """Whether the translation must have links, to place what was taken out."""
        return bool(self.rest.marks)

    def take_translation(self, translation: Translation) -> bool:
        """Take a translation of `text`; return whether no span is missing in it, or else prepare a try."""
        self.num_tries += 1
        restored = self._shown.restore(translation)
        if restored is not None:
            self._translation = restored
            return True
        missing = {self._remaining[i] for i in self._shown.missing(translation.text)}
        is_last = self.num_tries >= MAX_TRIES - 1
        self._prepare(self._all if is_last else self.taken | missing)
        return False

    def take_all_out(self) -> bool:
        """Prepare another try without any span; return False if there was one already, or is no span."""
        if len(self.taken) == len(self.spans):
            return False
        self._prepare(self._all)
        return True

    def protect_numbers(self) -> bool:
        """Prepare another try in which the numbers are protected, too; return False if there is none."""
        numbers = [number for number in find_numbers(self.block.text) if not self._has_in_span(number)]
        if not numbers:
            return False
        self.spans = protect(self.block, sorted((*self.spans, *numbers))).spans
        self.num_tries = 0
        self._prepare(self._tags)
        return True

    def _has_in_span(self, number: ProtectedSpan) -> bool:
        return any(span.start < number.end and number.start < span.end for span in self.spans)

    @property
    def _tags(self) -> frozenset[int]:
        """Indexes of tags. They are placed like markup at once: models often leave their content as it is."""
        return frozenset(i for i, span in enumerate(self.spans) if span.form is SpanForm.TAG)

    @property
    def _all(self) -> frozenset[int]:
        return frozenset(range(len(self.spans)))

    def _prepare(self, taken: frozenset[int]) -> None:
        self.taken = taken
        self._remaining = [i for i in range(len(self.spans)) if i not in taken]
        self.rest, spans = take_out(self.block, self.spans, taken) if taken else (self.block, self.spans)
        self._shown = show(self.rest.text, spans)


def protect(block: Block, spans: Sequence[ProtectedSpan]) -> ProtectedBlock:
    """Return a block with its protected spans, which are in order. One that has markup in it is left out."""
    if not block.marks:
        return ProtectedBlock(block, tuple(spans))
    edges = [mark.at for mark in block.marks]
    return ProtectedBlock(
        block,
        tuple(span for span in spans if bisect_right(edges, span.start) == bisect_left(edges, span.end)),
    )
