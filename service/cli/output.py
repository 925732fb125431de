"""Output of translated lines to a file, a pipe or a terminal."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer
from tqdm import tqdm

from dragoman import DecodingOptions
from dragoman.translator import READ_AHEAD_TEXTS
from service.cli.interrupts import defer_interrupts
from service.cli.lines import ManyTranslator, translate_lines

EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE


def open_output(output: Path | None, source: BinaryIO) -> BinaryIO:
    """Open the output for writing; reject the input file, which this would empty before it is read."""
    if output is None:
        # Not sys.stdout.buffer: with PYTHONUNBUFFERED it writes line by line, and may write only a part.
        return open(sys.stdout.fileno(), "wb", closefd=False)
    if output.is_file() and os.path.samestat(output.stat(), os.fstat(source.fileno())):
        raise typer.BadParameter(f"{output} is the input as well", param_hint="--output")
    return output.open("wb")


def write_lines(
    translator: ManyTranslator, source: BinaryIO, target: BinaryIO, options: DecodingOptions
) -> bool:
    """Translate all lines; return whether every line could be translated."""
    is_interactive = target.isatty() or source.isatty()
    is_complete = True
    # A user who types a line waits for its translation.
    read_ahead = 1 if source.isatty() else READ_AHEAD_TEXTS
    bar = tqdm(unit=" lines", file=sys.stderr, disable=is_interactive or not sys.stderr.isatty())
    try:
        with bar, _flush_at_end(target), defer_interrupts() as interrupts:
            for line in translate_lines(translator, interrupts.lines(source), options, read_ahead):
                target.write(line.content)
                if is_interactive:
                    target.flush()
                if line.problem is not None:
                    is_complete = False
                    bar.write(
                        f"dragoman: line {line.number}: {line.problem}; written unchanged", file=sys.stderr
                    )
                if line.is_cut:
                    bar.write(
                        f"dragoman: line {line.number}: reached the length limit and may be incomplete",
                        file=sys.stderr,
                    )
                bar.update()
                interrupts.check()
    except BrokenPipeError:
        # The reader closed the pipe. Output that is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
        raise typer.Exit(EXIT_BROKEN_PIPE) from None
    return is_complete


@contextmanager
def _flush_at_end(target: BinaryIO) -> Iterator[None]:
    """Flush at the end of the block, even if it fails: written lines arrive, and a full disk is an error."""
    try:
        yield
    finally:
        target.flush()
