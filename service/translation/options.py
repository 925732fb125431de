"""The options of a translation: one object for requests, commands, batches and jobs.

An option that is added to it needs a field in the API or the command that offers it, and no migration: jobs
store it as JSON.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from dragoman.decoding.options import DecodingOptions
from dragoman.terms import Terminology
from service.formats.review_marks import ReviewMarks
from service.text.options import PlaceholderMode

DEFAULT_DECODING = DecodingOptions()


class OnFailure(StrEnum):
    """Text that is written for an entry that could not be translated."""

    SOURCE = "source"
    """The source text of the entry."""
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """Options of a translation, for all APIs, formats and commands."""

    decoding: DecodingOptions = DEFAULT_DECODING
    model: str | None = None
    """The only bundle to use."""
    placeholders: PlaceholderMode = PlaceholderMode.AUTO
    on_failure: OnFailure = OnFailure.SOURCE
    """Of files."""
    review: ReviewMarks = ReviewMarks.MARK
    """Of files."""

    def with_terms(self, terminology: Terminology | None) -> Self:
        """Return the options for a language pair, of which the terms are known."""
        return replace(self, decoding=replace(self.decoding, terminology=terminology))


BATCH = TranslationOptions(DecodingOptions(return_scores=False))
