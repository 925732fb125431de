"""Lines that a command reads, and their translation: line n out is the translation of line n in."""

import io
import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import BinaryIO, TypeVar

import typer
from tqdm import tqdm

from dragoman import InputError
from dragoman.text.segmentation import has_letters
from service.batch.texts import EntryTranslator
from service.cli.exit_status import EXIT_BROKEN_PIPE
from service.formats.entries import Entry, FileFormatError
from service.formats.lines import Line, parse_line
from service.formats.registry import SUFFIXES
from service.text.outcome import TextOutcome

STDIN = "-"
MAX_BEGINNING_CHARACTERS = 2000
"""Characters after which no further line is read ahead; as many as language detection uses."""


class LineSource:
    """Lines with their endings, the first of which can be read ahead."""

    def __init__(self, lines: Iterator[bytes], file: BinaryIO | None) -> None:
        """Create it without reading.

        Args:
            lines: the lines, from `file` if there is one.
            file: file that the lines come from; None if they are an argument of the command.
        """
        self.file = file
        self.is_terminal = file is not None and file.isatty()
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        """Return all lines, once."""
        return self._lines

    def beginning(self) -> str:
        """Return the text of the first lines without taking them from the iteration.

        On a terminal, that is the first line with letters: its user waits for an answer.
        """
        lines, texts, num_characters = list[bytes](), list[str](), 0
        for line in self._lines:
            lines.append(line)
            texts.append(line.decode(errors="replace"))
            num_characters += len(texts[-1])
            if num_characters >= MAX_BEGINNING_CHARACTERS or (self.is_terminal and has_letters(texts[-1])):
                break
        self._lines = chain(lines, self._lines)
        return "".join(texts)


@contextmanager
def open_lines(text: str | None, file: Path | None) -> Iterator[LineSource]:
    """Yield the lines of a text, a file, or standard input if neither is given.

    Raises:
        InputError: both are given, or the text is the name of a file or looks like one.
        OSError: the file cannot be read.
    """
    if text is not None and file is not None:
        raise InputError("--file", "cannot be combined with a text")
    if file is not None:
        with file.open("rb") as opened:
            yield LineSource(opened, opened)
    elif text is None or text == STDIN:
        yield LineSource(_standard_input(), sys.stdin.buffer)
    else:
        _reject_file_name(text)
        content = os.fsencode(text)  # the bytes of the argument, even if they are not UTF-8
        yield LineSource(io.BytesIO(content if content.endswith(b"\n") else content + b"\n"), None)


def _standard_input() -> Iterator[bytes]:
    if sys.stdin.isatty():
        typer.echo("dragoman: reading lines from the terminal; Ctrl-D ends them", err=True)
    yield from sys.stdin.buffer


def _reject_file_name(text: str) -> None:
    """Raise InputError for the name of a file: its user may mean the content or, rarely, the name itself."""
    if os.path.isfile(text):  # noqa: PTH113 -- unlike `Path.is_file`, it takes texts too long for a name
        raise InputError(
            "text", f"{text} is a file; use --file {text}, or a pipe to translate the name itself"
        )
    if not any(map(str.isspace, text)) and text.lower().endswith(SUFFIXES):
        problem = f"there is no file {text}; was one meant? Use a pipe to translate the name itself"
        raise InputError("text", problem)


T = TypeVar("T")


def translate_lines(
    translator: EntryTranslator, source: Iterable[bytes]
) -> Iterator[tuple[bytes, TextOutcome]]:
    """Translate lazily, one line out, with its ending, for each line in.

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

    for outcome in translator.translate(entries()):
        line = in_progress.popleft()
        # The model may generate line feeds, but a line is translated as one line.
        text = line.text if outcome.is_source else outcome.marked.text.replace("\n", " ")
        yield line.mark + text.encode() + line.ending, outcome
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
        lines = translate_lines(translator, interrupts.lines(source))
        for number, (content, outcome) in enumerate(lines, start=1):
            target.write(content)
            if is_interactive:
                target.flush()
            if outcome.problem is not None:
                is_complete = False
                consequence = "; written unchanged" if outcome.is_source else ""
                bar.write(f"dragoman: line {number}: {outcome.problem}{consequence}", file=sys.stderr)
            if outcome.is_cut and not outcome.is_source:
                problem = "reached the length limit and may be incomplete"
                bar.write(f"dragoman: line {number}: {problem}", file=sys.stderr)
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
