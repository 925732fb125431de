"""HTML pages: every block of running text is an entry.

If text changed in a page that declares the source language, the page declares the target language. Attributes
that hold text (`alt`, `title`) stay as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from service.formats.encodings import CODECS_BY_LABEL, UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.inline_runs import token_blocks
from service.formats.language_tags import replace_language_tags
from service.formats.parts import TextPart, end, entries_of, written
from service.formats.review_marks import TargetText
from service.text.html_tokens import html_tokens
from service.text.options import MarkupLanguage, MarkupOptions

HEAD_BYTES = 1024
"""Prefix that declares the encoding (https://html.spec.whatwg.org/multipage/semantics.html#charset)."""

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARED = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """A decoded page."""

    text: str
    writing: FileEncoding

    def write(self, text: str) -> bytes:
        """Encode another text like this page; characters missing from its encoding become references.

        Raises:
            FileFormatError: a character can neither be encoded nor become a reference.
        """
        try:
            encoded = text.encode(self.writing.encoding, "xmlcharrefreplace")
        except UnicodeEncodeError as error:
            problem = f"its translation cannot be written in {self.writing.encoding}: {error.reason}"
            raise FileFormatError(problem) from error
        return self.writing.byte_order_mark + encoded


def decode_page(content: bytes) -> Page:
    """Decode a page by its byte order mark, else by the encoding that it declares, else as UTF-8.

    Raises:
        FileFormatError: the page is in another encoding, or declares an unknown one.
    """
    writing = encoding_from_mark(content) or _declared_writing(content)
    try:
        text = content[len(writing.byte_order_mark) :].decode(writing.encoding)
    except UnicodeDecodeError as error:
        at = error.start + len(writing.byte_order_mark)
        raise FileFormatError(
            f"it is not in {writing.encoding}: byte {at} (counted from 0): {error.reason}; declare its "
            "encoding, or save it in UTF-8"
        ) from error
    return Page(text, writing)


def _declared_writing(content: bytes) -> FileEncoding:
    declared = _DECLARED.search(_COMMENT.sub(b"", content[:HEAD_BYTES]))
    if declared is None:
        return FileEncoding(UTF_8)
    label = declared[1].decode("ascii", errors="backslashreplace")
    known = CODECS_BY_LABEL.get(label.lower())
    if known is None:
        raise FileFormatError(f"it declares the encoding {label[:40]!r}, which is unknown; save it in UTF-8")
    return FileEncoding(known)


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

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        page = decode_page(source.read())
        text = "".join(written(parse_html_parts(page.text), texts))
        end(texts)
        target.write(page.write(text if text == page.text else _ROOT.sub(self._in_target, text, count=1)))

    def _in_target(self, root: re.Match[str]) -> str:
        return replace_language_tags(root[0], self._options.source, self._options.target)


def parse_html_parts(html: str, location: str = "") -> list[TextPart]:
    """Return the blocks of a page, or of a part of one, and the markup between them.

    Args:
        html: any HTML, however malformed.
        location: prefix of the blocks' locations.
    """
    return token_blocks(html_tokens(html, _HTML), MarkupLanguage.HTML, location)
