"""Markdown of any dialect: only words change.

Running text is translated: paragraphs, headings, list items, table cells, titles, HTML blocks, and some keys
of the front matter. Everything else stays byte for byte: code, formulas, templates, images, attributes, and
targets and definitions of links.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from tomllib import TOMLDecodeError, loads
from typing import IO

from service.formats.entries import Entry, FileFormatError
from service.formats.html import parse_html_parts
from service.formats.inline_runs import entries_in, text_runs
from service.formats.markdown_blocks import BlockKind, BlockParser
from service.formats.markdown_inline import InlineParser
from service.formats.markdown_writing import InlineWriter
from service.formats.parts import TextFormat, TextPart, Unit, decode, encode, joined
from service.formats.string_files import SelectedKeys, Slot, join_keys, parts_around
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
        yield from self._front_matter(text, front) if front else [text[:at]]
        yield from _document(text[at:], 1 + len(_LINES.findall(text[:at])))

    def _front_matter(self, text: str, front: re.Match[str]) -> Iterator[TextPart]:
        """Yield the front matter; it stays as it is if it is neither YAML nor TOML."""
        start, end = front.span("keys")
        yield text[:start]
        keys = SelectedKeys(self.options.columns or _KEYS)
        read = YamlFormat(self.options).slots if front[1] == "---" else _toml_slots
        try:
            found = list(read(front["keys"], keys))
        except (FileFormatError, TOMLDecodeError):
            found = []
        yield from parts_around(front["keys"], found)
        yield text[end : front.end()]


_TOML = re.compile(
    r"^[ \t]*+(?:\[\[?(?P<table>[\w. -]++)\]\]?|(?P<key>[\w-]++)[ \t]*+=[ \t]*+"
    r"(?P<value>\"(?!\"\")(?:[^\"\\\r\n]|\\.)*+\"|'(?!'')[^'\r\n]*+'))[ \t]*+(?:\#.*+)?\r?$",
    re.MULTILINE,
)
"""A header or a key with a string of one line."""


def _toml_slots(text: str, keys: SelectedKeys) -> Iterator[Slot]:
    """Yield the strings of TOML under some keys. Raises TOMLDecodeError."""
    loads(text)
    table = ""
    for found in _TOML.finditer(text):
        table = found["table"] or table
        if found["key"] and keys.has(path := join_keys(table, found["key"])):
            entry = Entry(loads(f"a={found['value']}")["a"], f"front matter, {path}")
            unit = Unit((entry,), lambda texts: json.dumps(texts[0].text, ensure_ascii=False), found["value"])
            yield Slot(*found.span("value"), unit)


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
