"""Whole HTML pages: every block of running text is an entry.

The `lang` attribute stays as it is, as do attributes that hold text (`alt`, `title`).
"""

from collections.abc import Iterator
from typing import BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.pages import read_page
from service.formats.passages import Passage, end, entries_of, written
from service.formats.token_blocks import token_blocks
from service.markup.html_tokens import html_tokens
from service.markup.options import MarkupLanguage, MarkupOptions

_HTML = MarkupOptions(MarkupLanguage.HTML)


class HtmlFormat:
    """Pages in any encoding that they declare; characters which that has not become references."""

    def __init__(self, options: FileOptions) -> None:
        """Nothing about pages can be chosen."""
        del options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(html_parts(read_page(source.read()).text))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        page = read_page(source.read())
        text = "".join(written(html_parts(page.text), texts))
        end(texts)
        target.write(page.write(text))


def html_parts(html: str, place: str = "") -> list[str | Passage]:
    """A page or part of one: its blocks, and what is between them.

    Args:
        html: however malformed.
        place: what the numbers of blocks are told after.
    """
    return token_blocks(html_tokens(html, _HTML), MarkupLanguage.HTML, place)
