"""HTML pages: every block of running text is an entry.

If text changed in a page that declares the source language, the page declares the target language. Attributes
that hold text (`alt`, `title`) stay as they are.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import BinaryIO

from service.formats.encodings import CODECS_BY_LABEL, UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import Entry, FileFormatError, FileOptions, TargetText
from service.formats.inline_runs import token_blocks, without_cut_elements
from service.formats.language_tags import replace_language_tags
from service.formats.parts import TextPart, end, entries_of, written
from service.formats.template_tags import TemplateTag, find_template_tags
from service.text.html_tokens import html_tokens
from service.text.marked_text import fill
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.tokens import InlineItem, TokenKind

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
    tags = [
        tag for tag in find_template_tags(html) if tag.kind is not TokenKind.WORD or html[tag.start] == "<"
    ]
    filled = fill(html, ((tag.start, tag.end, "x" * (tag.end - tag.start)) for tag in tags))
    tokens = html_tokens(filled, _HTML)
    tokens = without_cut_elements(_with_tags(tokens, html, tags)) if tags else tokens
    return token_blocks(tokens, MarkupLanguage.HTML, location)


def _with_tags(items: Iterable[InlineItem], html: str, tags: Sequence[TemplateTag]) -> Iterator[InlineItem]:
    """Yield items with the source of the tags that were filled; a tag in a text is an item of its own."""
    at = number = 0
    for item in items:
        end = at + len(item.raw)
        if item.kind is not TokenKind.TEXT:
            yield replace(item, raw=html[at:end])
        else:
            edges = list(accumulate(map(len, item.raws), initial=at))
            while number < len(tags) and tags[number].start < end:
                tag = tags[number]
                yield from _part(item, edges, at, tag.start)
                yield InlineItem(tag.kind, raw=html[tag.start : tag.end])
                at, number = tag.end, number + 1
            yield from _part(item, edges, at, end)
        at = end
        while number < len(tags) and tags[number].start < at:
            number += 1


def _part(item: InlineItem, edges: Sequence[int], start: int, end: int) -> Iterator[InlineItem]:
    """Yield a part of a text, if it has some."""
    first, last = bisect_left(edges, start), bisect_left(edges, end)
    if first < last:
        raws = item.raws[first:last]
        yield replace(item, text=item.text[first:last], raws=raws, raw="".join(raws))
