"""Whole HTML pages: every block of running text is an entry.

A page that says it is in the source language says the target language once its text changed. Attributes that
hold text (`alt`, `title`) stay as they are.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.language_tags import with_language
from service.formats.pages import read_page
from service.formats.text_units import TextUnit, end, entries_of, written
from service.formats.token_blocks import token_blocks
from service.markup.html_tokens import html_tokens
from service.markup.options import MarkupLanguage, MarkupOptions

_ROOT = re.compile(r"<html(?=[\s/])(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>", re.IGNORECASE)
_HTML = MarkupOptions(MarkupLanguage.HTML)


class HtmlFormat:
    """Pages in any encoding that they declare; characters which that has not become references."""

    def __init__(self, options: FileOptions) -> None:
        """What says that it is in the source language says the target language afterwards."""
        self._options = options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(html_parts(read_page(source.read()).text))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        page = read_page(source.read())
        text = "".join(written(html_parts(page.text), texts))
        end(texts)
        target.write(page.write(text if text == page.text else _ROOT.sub(self._in_target, text, count=1)))

    def _in_target(self, root: re.Match[str]) -> str:
        return with_language(root[0], self._options.source, self._options.target)


def html_parts(html: str, place: str = "") -> list[str | TextUnit]:
    """A page or part of one: its blocks, and what is between them.

    Args:
        html: however malformed.
        place: what the numbers of blocks are told after.
    """
    return token_blocks(html_tokens(html, _HTML), MarkupLanguage.HTML, place)
