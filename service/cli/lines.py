"""Line by line translation: the n-th line out is the translation of the n-th line in."""

import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO, TypeVar

import typer
from tqdm import tqdm

from service.batch.texts import EntryTranslator
from service.cli.exit_status import EXIT_BROKEN_PIPE
from service.cli.line_source import LineSource
from service.formats.entries import Entry, FileFormatError
from service.formats.lines import Line, parse_line

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TargetLine:
    """A line to write."""

    number: int
    """Number of the line, from 1."""
    content: bytes
    """The line with its ending."""
    problem: str | None
    """Description of the fault; None if the line was translated and passed all checks."""
    is_cut: bool
    """Whether a segment reached its length limit, so that the translation may be incomplete."""
    is_source: bool
    """Whether the source is written unchanged."""


def translate_lines(translator: EntryTranslator, source: Iterable[bytes]) -> Iterator[TargetLine]:
    """Translate lazily, one line out for each line in.

    Args:
        translator: gets all lines in one lazy call.
        source: lines with their endings, as a binary file yields them.

    Raises:
        FileFormatError: a line is not UTF-8; raised after all lines before it were yielded.
    """
    in_progress: deque[Line] = deque()
    undecodable: list[FileFormatError] = []

    def entries() -> Iterator[Entry]:
        try:
            for number, encoded in enumerate(source, start=1):
                line = parse_line(encoded, number, container="input")
                in_progress.append(line)
                yield Entry(line.text, "")
        except FileFormatError as error:
            # Raised here, it would overtake the lines that are still being translated.
            undecodable.append(error)

    for number, outcome in enumerate(translator.translate(entries()), start=1):
        line = in_progress.popleft()
        if outcome.is_source:
            text, is_cut = line.text, False
        else:
            # The model may generate line feeds, but a line is translated as one line.
            text, is_cut = outcome.marked.text.replace("\n", " "), outcome.is_cut
        content = line.mark + text.encode() + line.ending
        yield TargetLine(number, content, outcome.problem, is_cut, outcome.is_source)
    if undecodable:
        raise undecodable[0]


class Interrupts:
    """SIGINT while lines are read and written; see `defer_interrupts`.

    Python raises KeyboardInterrupt between any two instructions of the main thread: also right after it has
    acquired a lock, and before code runs that would release it. A thread that needs the lock then waits for
    ever, and so does any thread that joins it.
    """

    def __init__(self) -> None:
        self._is_pending = False
        self._is_reading = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if one is pending."""
        if self._is_pending:
            raise KeyboardInterrupt

    def lines(self, source: Iterable[T]) -> Iterator[T]:
        """Yield the lines of a source that may block, parsed or not; an interrupt ends the wait at once."""
        remaining = iter(source)
        while True:
            self._is_reading = True  # set before the check, so that an interrupt in between is raised
            try:
                self.check()
                line = next(remaining, None)
            finally:
                self._is_reading = False
            if line is None:
                return
            yield line

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle the signal; raise at once while a line is awaited, or if it is the second signal."""
        if self._is_reading or self._is_pending:
            raise KeyboardInterrupt
        self._is_pending = True


@contextmanager
def defer_interrupts() -> Iterator[Interrupts]:
    """Handle SIGINT while the block runs; on the main thread only."""
    interrupts = Interrupts()
    previous_handler = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def open_output(output: Path | None, source: BinaryIO | None) -> BinaryIO:
    """Open the output for writing; reject the input file, which this would empty before it is read."""
    if output is None:
        # Not sys.stdout.buffer: with PYTHONUNBUFFERED it writes line by line, and may write only a part.
        return open(sys.stdout.fileno(), "wb", closefd=False)
    is_input = source is not None and output.is_file()
    if source is not None and is_input and os.path.samestat(output.stat(), os.fstat(source.fileno())):
        raise typer.BadParameter(f"{output} is the input as well", param_hint="--output")
    return output.open("wb")


def write_lines(translator: EntryTranslator, source: LineSource, target: BinaryIO) -> bool:
    """Translate all lines; return whether every line could be translated, and passed the checks."""
    is_interactive = target.isatty() or source.is_terminal
    has_bar = source.file is not None and not is_interactive and sys.stderr.isatty()
    is_complete = True
    with (
        flushed(target),
        tqdm(unit=" lines", file=sys.stderr, disable=not has_bar) as bar,
        defer_interrupts() as interrupts,
    ):
        for line in translate_lines(translator, interrupts.lines(source)):
            target.write(line.content)
            if is_interactive:
                target.flush()
            if line.problem is not None:
                is_complete = False
                consequence = "; written unchanged" if line.is_source else ""
                bar.write(f"dragoman: line {line.number}: {line.problem}{consequence}", file=sys.stderr)
            if line.is_cut:
                bar.write(
                    f"dragoman: line {line.number}: reached the length limit and may be incomplete",
                    file=sys.stderr,
                )
            bar.update()
            interrupts.check()
    return is_complete


@contextmanager
def flushed(target: BinaryIO) -> Iterator[None]:
    """Flush at the end of the block, even if it fails: written lines arrive, and a full disk is an error.

    End the command if the reader of the output has closed it.
    """
    try:
        try:
            yield
        finally:
            target.flush()
    except BrokenPipeError:
        # Output that is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
        raise typer.Exit(EXIT_BROKEN_PIPE) from None
