"""Glossary files: CSV, TSV and TermBase eXchange (TBX).

A concept of TBX is an entry: each of its terms in the source language, with all of its terms in the target
language as allowed translations.
"""

from enum import StrEnum
from os import SEEK_END
from typing import BinaryIO

from dragoman.terms import Term
from dragoman.types import Pair
from service.formats.entries import FileFormatError
from service.formats.isolation import TRUSTED, RecordReader
from service.formats.records import RecordKind
from service.glossaries.entries import MAX_ENTRIES_BYTES, EntriesFormat, EntryCollector, collect_rows


class GlossaryFormat(StrEnum):
    """The formats of glossary files."""

    CSV = "csv"
    TSV = "tsv"
    TBX = "tbx"


def format_of(name: str, collector: EntryCollector) -> GlossaryFormat:
    """Return the format that a file's suffix names. Raises GlossaryInvalid."""
    try:
        return GlossaryFormat(name.rpartition(".")[2].lower())
    except ValueError:
        problem = f"its name must end with .{', .'.join(GlossaryFormat)}, or the format must be named"
        raise collector.error(problem) from None


def read_glossary_file(
    source: BinaryIO,
    glossary_format: GlossaryFormat,
    pair: Pair,
    collector: EntryCollector,
    reader: RecordReader = TRUSTED,
) -> tuple[Term, ...]:
    """Return the entries of a file for a language pair.

    Args:
        source: seekable file, read from its beginning.
        glossary_format: its format.
        pair: languages of the entries.
        collector: limits and the field's name.
        reader: reads the file.

    Raises:
        GlossaryInvalid: the file or an entry cannot be used; the error names the line.
        ReaderStoppedError: the reader was stopped.
    """
    size_bytes = source.seek(0, SEEK_END)
    if glossary_format is not GlossaryFormat.TBX and size_bytes > MAX_ENTRIES_BYTES:
        raise collector.error(f"has {size_bytes} bytes; the limit is {MAX_ENTRIES_BYTES}; split it")
    records = reader.read(RecordKind(glossary_format), source, pair)
    try:
        if glossary_format is not GlossaryFormat.TBX:
            return collect_rows(records, EntriesFormat(glossary_format), pair, collector)
        for line, sources, targets in records:
            for term in sources:
                collector.add(term, targets, f"line {line}")
        return collector.collected()
    except FileFormatError as error:
        raise collector.error(error.problem) from error
