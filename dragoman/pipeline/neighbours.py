"""Read short neighbours together: sentences of a text, and the sentence before it."""

from collections.abc import Callable, Sequence
from typing import TypeGuard

from dragoman.errors import InputError
from dragoman.pipeline.segment_input import Input, SegmentInput
from dragoman.reading.reading_file import LanguageReading
from dragoman.text.segmentation import WINDOW_CHARS, SegmentedText, segment
from dragoman.text.validation import surrogate_problem


def join_neighbours(
    document: SegmentedText,
    sources: Sequence[Input],
    reading: LanguageReading,
    input_of: Callable[[str, int], Input],
) -> tuple[SegmentedText, list[Input]]:
    """Return a text with each short sentence that needs context in one segment with the one before.

    Args:
        document: the text's sentences.
        sources: the input of each.
        reading: says which sentences, and how long a segment may be.
        input_of: returns the input of a segment at a position.
    """
    segments: list[str] = []
    gaps: list[str] = []
    inputs: list[Input] = []
    for sentence, source, gap in zip(document.segments, sources, document.gaps, strict=False):
        before = inputs[-1] if inputs and gap == " " and reading.needs_context(sentence) else None
        if _fits(before, reading) and _fits(source, reading):
            both = f"{segments[-1]}{gap}{sentence}"
            joined = input_of(both, before.number)
            if _fits(joined, reading):
                segments[-1] = both
                inputs[-1] = joined._replace(sentences=(*(before.sentences or (before,)), source))
                continue
        segments.append(sentence)
        gaps.append(gap)
        inputs.append(source)
    return SegmentedText(tuple(segments), (*gaps, document.gaps[-1])), inputs


def last_sentence(context: str, language: str) -> str:
    """Return the sentence at the end of a text; empty if there is none, or a line ends after it.

    Raises:
        InputError: the text is not well-formed Unicode.
    """
    if (problem := surrogate_problem(context)) is not None:
        raise InputError("context", problem)
    found = segment(context[-WINDOW_CHARS:], language)
    return found.segments[-1] if found.segments and not found.gaps[-1].strip(" ") else ""


def after_context(source: Input, reading: LanguageReading, joined: Input) -> Input:
    """Return the input of a first segment, with that of the sentence before it and itself if both fit."""
    if not (_fits(source, reading) and _fits(joined, reading)):
        return source
    return source._replace(after_context=joined)


def _fits(source: Input | None, reading: LanguageReading) -> TypeGuard[SegmentInput]:
    """Return whether a segment may be part of a group: no word is respelled, and it has few tokens."""
    if not isinstance(source, SegmentInput) or source.as_written is not None:
        return False
    is_in_capitals = source.read is not None and source.read.is_in_capitals
    return not is_in_capitals and len(source.ids) - sum(map(len, source.around)) <= reading.group_tokens
