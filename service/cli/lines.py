"""Line by line translation: the n-th line out is the translation of the n-th line in."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from dragoman import DecodingOptions, FinishReason, InputError, Translation
from dragoman.translator import READ_AHEAD_TEXTS
from service.formats.line_bytes import split_line


class ManyTranslator(Protocol):
    """A translator of many texts, such as `service.engine.FixedPair`."""

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = ..., read_ahead: int = ...
    ) -> Iterator[Translation | InputError]: ...


@dataclass(eq=False)
class UndecodableLineError(Exception):
    """A line that is not UTF-8."""

    number: int
    """Number of the line, from 1."""
    byte_offset: int
    """Position in the line of the first invalid byte, from 1."""
    byte: int

    def __str__(self) -> str:
        return (
            f"line {self.number} is not UTF-8: byte 0x{self.byte:02x} at position {self.byte_offset} of it; "
            "convert the input to UTF-8 first"
        )


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line in three parts, which together are the line's bytes."""

    mark: bytes
    """A byte order mark before the first line, or nothing."""
    text: str
    ending: bytes
    """LF, CR LF, or nothing after a last line that has none."""


@dataclass(frozen=True, slots=True)
class TargetLine:
    """A line to write."""

    number: int
    """Number of the line, from 1."""
    content: bytes
    """The line with its ending."""
    problem: str | None
    """Reason why the source is written unchanged; None if it was translated."""
    is_cut: bool
    """Whether a segment reached its length limit, so that the translation may be incomplete."""


def translate_lines(
    translator: ManyTranslator,
    source: Iterable[bytes],
    options: DecodingOptions,
    read_ahead: int = READ_AHEAD_TEXTS,
) -> Iterator[TargetLine]:
    """Translate lazily, one line out for each line in.

    Args:
        translator: gets all lines in one lazy call.
        source: lines with their endings, as a binary file yields them.
        options: options of all lines.
        read_ahead: maximum lines in progress; 1 translates each line before the next is read.

    Raises:
        UndecodableLineError: after all lines before it were yielded.
    """
    in_progress: deque[SourceLine] = deque()
    undecodable: list[UndecodableLineError] = []

    def texts() -> Iterator[str]:
        try:
            for line in read_lines(source):
                in_progress.append(line)
                yield line.text
        except UndecodableLineError as error:
            # Raised here, it would overtake the lines that are still being translated.
            undecodable.append(error)

    for number, outcome in enumerate(translator.translate_many(texts(), options, read_ahead), start=1):
        line = in_progress.popleft()
        if isinstance(outcome, InputError):
            text, problem = line.text, outcome.problem
        else:
            text, problem = _replace_line_feeds(outcome.text), None
        is_cut = isinstance(outcome, Translation) and outcome.finish_reason is FinishReason.LENGTH
        yield TargetLine(number, line.mark + text.encode() + line.ending, problem, is_cut)
    if undecodable:
        raise undecodable[0]


def read_lines(source: Iterable[bytes]) -> Iterator[SourceLine]:
    """Split lines into their parts, without loss; only LF and CR LF end a line, no other character does.

    Raises:
        UndecodableLineError: at the first line that is not UTF-8.
    """
    for number, line in enumerate(source, start=1):
        mark, content, ending = split_line(line, number)
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            offset = len(mark) + error.start + 1
            raise UndecodableLineError(number, offset, content[error.start]) from error
        yield SourceLine(mark, text, ending)


def _replace_line_feeds(text: str) -> str:
    """Replace line feeds, which the model may generate, with spaces: a line is translated as one line."""
    return text.replace("\n", " ")
