"""Delimited tables: comma- and tab-separated values (RFC 4180, as lenient as Python's `csv`).

This module parses records itself because `csv` does not report how a cell was written. Cells that are not
translated stay byte for byte, and so do all line endings.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import BinaryIO

from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.lines import Line, read_lines
from service.formats.parts import Part, slot
from service.formats.plain_text import EncodedFormat

DEFAULT_COLUMN = "text"
MAX_RECORD_CHARACTERS = 10_000_000
"""Maximum length of a record; a longer one has an unclosed quotation mark."""

_MAX_SHOWN = 400

_NUMBER = re.compile("[0-9]{1,9}")
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')


class DelimitedFormat(EncodedFormat):
    """A table in UTF-8: the non-blank cells of some columns are entries.

    Columns are selected by name in the header, or by number from 1. If all are numbers, the first record is
    data like the others. The default is the column `text`.
    """

    delimiters: str
    """Possible delimiters, the likeliest first. The first one that gives a header with all named columns is
    used, otherwise the first one of all."""

    def __init__(self, options: FileOptions) -> None:
        """Store the columns, `options.columns`."""
        super().__init__(options)
        self._columns = options.columns or (DEFAULT_COLUMN,)
        self._names = tuple(column for column in self._columns if not _is_number(column))

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        lines = read_lines(source)
        first = next(lines, None)
        if first is None:
            return
        delimiter = self._delimiter(first.text)
        records = read_records(chain([first], lines), delimiter)
        header = next(records)
        selected = self._select_columns([cell_value(cell) for cell in header.cells])
        if self._names:
            yield header.content(delimiter)
        for record in records if self._names else chain([header], records):
            yield from _record_parts(record, selected, delimiter)

    def _delimiter(self, first_line: str) -> str:
        for delimiter in self.delimiters if self._names else "":
            cells, _ = _split_cells(first_line, delimiter)
            if {cell_value(cell) for cell in cells}.issuperset(self._names):
                return delimiter
        return self.delimiters[0]

    def _select_columns(self, first: Sequence[str]) -> tuple[tuple[int, str], ...]:
        """Return the selected columns in file order: position from 0, and name or number."""
        selected: dict[int, str] = {}
        for column in self._columns:
            if _is_number(column):
                position = int(column) - 1  # at most 9 digits
                if not 0 <= position < len(first):
                    raise FileFormatError(f"column {column} not found: line 1 has {len(first)} columns")
            elif first.count(column) != 1:
                problem = "no column" if column not in first else "more than one column"
                raise FileFormatError(
                    f"{problem} is named {column} in line 1; choose by name or number from: "
                    f"{', '.join(first)[:_MAX_SHOWN]}"
                )
            else:
                position = first.index(column)
            selected.setdefault(position, column)
        return tuple(sorted(selected.items()))


class CommaFormat(DelimitedFormat):
    """Comma-separated values; with semicolons or tabs if only those give the named columns."""

    delimiters = ",;\t"


class TabFormat(DelimitedFormat):
    """Tab-separated values."""

    delimiters = "\t"


@dataclass(frozen=True, slots=True)
class Record:
    """A record as written in the file."""

    number: int
    """Number of the line in which the record begins, from 1."""
    mark: bytes
    cells: tuple[str, ...]
    """Cells with their quotation marks."""
    ending: bytes

    def content(self, delimiter: str) -> bytes:
        """Return the bytes of the record."""
        return self.mark + delimiter.join(self.cells).encode() + self.ending


def read_records(lines: Iterator[Line], delimiter: str) -> Iterator[Record]:
    """Parse records lazily, without losing a byte.

    Raises:
        FileFormatError: a quoted cell does not end, or a lone carriage return is outside quotation marks.
    """
    begun: Line | None = None
    cells: list[str] = []
    chunks: list[str] = []
    num_characters = 0
    for line in lines:
        begun = begun or line
        num_characters += len(line.text)
        if num_characters > MAX_RECORD_CHARACTERS:
            break
        closing = _CLOSING.match(line.text) if chunks else None
        if chunks and closing is None:
            chunks.append(line.text + line.ending.decode())
            continue
        at = 0 if closing is None else closing.end()
        more, is_open = _split_cells(line.text[at:], delimiter)
        if closing is not None:
            more[0] = "".join(chunks) + line.text[:at] + more[0]
        chunks = [more.pop() + line.ending.decode()] if is_open else []
        cells += more
        if not is_open:
            _check_endings(cells, begun.number)
            yield Record(begun.number, begun.mark, tuple(cells), line.ending)
            begun, cells, num_characters = None, [], 0
    if begun is not None:
        raise FileFormatError(
            f"line {begun.number}: a quoted cell is not closed; double the quotation marks in "
            "cells, and put the cells in quotation marks"
        )


def cell_value(cell: str) -> str:
    """Return the value of a cell without its quotation marks."""
    quoted = _QUOTED.match(cell)
    if quoted is None:
        return cell
    return quoted[0][1:-1].replace('""', '"') + cell[quoted.end() :]


def _split_cells(text: str, delimiter: str) -> tuple[list[str], bool]:
    """Return the cells of a line, at least one, and whether the last one continues in the next line."""
    if '"' not in text:
        return text.split(delimiter), False
    cells: list[str] = []
    at = 0
    while True:
        end = at
        if text.startswith('"', at):
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return [*cells, text[at:]], True
            end = quoted.end()
        end = text.find(delimiter, end)
        if end < 0:
            return [*cells, text[at:]], False
        cells.append(text[at:end])
        at = end + 1


def _check_endings(cells: Sequence[str], number: int) -> None:
    for cell in cells:
        quoted = _QUOTED.match(cell) if "\r" in cell else None
        if "\r" in cell[0 if quoted is None else quoted.end() :]:
            raise FileFormatError(
                f"line {number}: a carriage return has no line feed; end lines with line feeds, and "
                "quote cells that have several lines"
            )


def _record_parts(record: Record, selected: Sequence[tuple[int, str]], delimiter: str) -> Iterator[Part]:
    if record.cells == ("",):
        yield record.content(delimiter)
        return
    if selected[-1][0] >= len(record.cells):
        raise FileFormatError(
            f"line {record.number} has {len(record.cells)} cells, but column {selected[-1][1]} is "
            f"number {selected[-1][0] + 1}; add the missing cells"
        )
    before = record.mark
    first = 0
    for position, column in selected:
        between = record.cells[first:position]
        before += "".join(cell + delimiter for cell in between).encode()
        cell = record.cells[position]
        value = cell_value(cell)
        separator = delimiter.encode() if position + 1 < len(record.cells) else b""
        if value and not value.isspace():
            if before:
                yield before
            render = _quote_cell if cell.startswith('"') else partial(_encode_cell, delimiter)
            entry = Entry(value, f"line {record.number}, column {column}")
            yield slot(entry, cell.encode(), render)
            before = separator
        else:
            before += cell.encode() + separator
        first = position + 1
    yield before + delimiter.join(record.cells[first:]).encode() + record.ending


def _encode_cell(delimiter: str, text: str) -> bytes:
    # An unquoted empty text could make an empty line, which is not a record.
    if not text or any(character in text for character in (delimiter, '"', "\r", "\n")):
        return _quote_cell(text)
    return text.encode()


def _quote_cell(text: str) -> bytes:
    return ('"' + text.replace('"', '""') + '"').encode()


def _is_number(column: str) -> bool:
    return _NUMBER.fullmatch(column) is not None
