"""Markdown of any dialect: only words change.

Running text is translated: paragraphs, headings, list items, table cells, titles, HTML blocks, and some keys
of the front matter. Everything else stays byte for byte: code, formulas, templates, images, attributes, and
targets and definitions of links.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

from service.formats.entries import FileFormatError
from service.formats.html import parse_html_parts
from service.formats.inline_runs import entries_in, text_runs
from service.formats.markdown_blocks import BlockKind, BlockParser
from service.formats.markdown_inline import InlineParser
from service.formats.markdown_writing import InlineWriter
from service.formats.parts import TextFormat, TextPart, Unit, decode, encode, joined
from service.formats.string_files import SelectedKeys, Slot
from service.formats.yaml_strings import YamlFormat

_BYTE_ORDER_MARK = "\ufeff"
_FRONT_MATTER = re.compile(
    r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(?P<keys>(?:.*?\r?\n)?)(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_KEYS = ("title", "description", "summary", "excerpt")
"""Keys of the front matter whose texts are translated."""


class MarkdownFormat(TextFormat):
    """A Markdown document; an entry is a paragraph, a heading, a table cell, or a block of text in HTML."""

    def parse(self, source: IO[bytes]) -> tuple[Iterator[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        return self._parts(decode(source.read(), "utf-8")), partial(encode, encoding="utf-8")

    def _parts(self, text: str) -> Iterator[TextPart]:
        front = _FRONT_MATTER.match(text)
        at = front.end() if front else text.startswith(_BYTE_ORDER_MARK)
        yield from self._front_matter(text, front) if front and front[1] == "---" else [text[:at]]
        yield from _document(text[at:], 1 + len(_LINES.findall(text[:at])))

    def _front_matter(self, text: str, front: re.Match[str]) -> Iterator[TextPart]:
        """Yield the front matter; it stays as it is if it is not YAML."""
        start, end = front.span("keys")
        yield text[:start]
        keys = SelectedKeys(self.options.columns or _KEYS)
        try:
            found = list(YamlFormat(self.options).slots(front["keys"], keys))
        except FileFormatError:
            found = []
        at = 0
        for slot in found:
            if isinstance(slot, Slot):
                yield front["keys"][at : slot.start]
                yield slot.unit
                at = slot.end
        yield front["keys"][at:]
        yield text[end : front.end()]


_LINES = re.compile(r"\r\n|\r|\n")


def _document(text: str, first_line: int) -> Iterator[TextPart]:
    """Yield the parts of a document without its front matter."""
    blocks = BlockParser()
    inlines = InlineParser(blocks.references)
    at = 0
    for block in blocks.blocks(text):
        yield text[at : block.start]
        at = block.stop
        raw, location = text[block.start : block.stop], f"line {first_line + block.line}"
        if block.kind is BlockKind.HTML:
            yield joined(parse_html_parts(raw, f"{location}, "))
            continue
        items = inlines.read(block.source, raw)
        found = list(text_runs(items, location, keeps_blanks=True))
        yield Unit(entries_in(found), InlineWriter(blocks, inlines, block, found, items).write, raw)
    yield text[at:]
