"""Glossary files: CSV, TSV and TBX."""

from enum import StrEnum
from os import SEEK_END
from typing import IO

from dragoman.terms import Term
from dragoman.types import Pair
from service.glossaries.entries import MAX_ENTRIES_BYTES, EntriesFormat, EntryCollector, parse_entries
from service.glossaries.tbx import read_tbx


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
    source: IO[bytes], glossary_format: GlossaryFormat, pair: Pair, collector: EntryCollector
) -> tuple[Term, ...]:
    """Return the entries of a file for a language pair.

    Args:
        source: seekable file, read from its beginning.
        glossary_format: its format.
        pair: languages of the entries.
        collector: limits and the field's name.

    Raises:
        GlossaryInvalid: the file or an entry cannot be used; the error names the line.
    """
    size_bytes = source.seek(0, SEEK_END)
    source.seek(0)
    if glossary_format is GlossaryFormat.TBX:
        return read_tbx(source, pair, collector)
    if size_bytes > MAX_ENTRIES_BYTES:
        raise collector.error(f"has {size_bytes} bytes; the limit is {MAX_ENTRIES_BYTES}; split it")
    try:
        text = source.read().decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}; save it in UTF-8"
        raise collector.error(problem) from error
    return parse_entries(text, EntriesFormat(glossary_format), pair, collector)
