"""Lines that a command reads: of its argument, a file or standard input."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import typer

from dragoman import InputError
from dragoman.text.segmentation import has_letters
from service.formats.registry import SUFFIXES

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
