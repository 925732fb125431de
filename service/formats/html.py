"""HTML pages: every block of running text is an entry.

If text changed in a page that declares the source language, the page declares the target language. Attributes
that hold text (`alt`, `title`) stay as they are.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.language_tags import replace_language_tags
from service.formats.pages import decode_page
from service.formats.text_units import TextUnit, end, entries_of, written
from service.formats.token_blocks import token_blocks
from service.markup.html_tokens import html_tokens
from service.markup.options import MarkupLanguage, MarkupOptions

_ROOT = re.compile(r"<html(?=[\s/])(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>", re.IGNORECASE)
_HTML = MarkupOptions(MarkupLanguage.HTML)


class HtmlFormat:
    """A page in any encoding that it declares; characters missing from that encoding become references."""

    def __init__(self, options: FileOptions) -> None:
        """Store the options; their languages determine how the page's language tag changes."""
        self._options = options

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(parse_html_parts(decode_page(source.read()).text))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`."""
        page = decode_page(source.read())
        text = "".join(written(parse_html_parts(page.text), texts))
        end(texts)
        target.write(page.write(text if text == page.text else _ROOT.sub(self._in_target, text, count=1)))

    def _in_target(self, root: re.Match[str]) -> str:
        return replace_language_tags(root[0], self._options.source, self._options.target)


def parse_html_parts(html: str, place: str = "") -> list[str | TextUnit]:
    """Return the blocks of a page, or of a part of one, and the markup between them.

    Args:
        html: any HTML, however malformed.
        place: prefix of the blocks' locations.
    """
    return token_blocks(html_tokens(html, _HTML), MarkupLanguage.HTML, place)
