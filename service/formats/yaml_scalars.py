"""Notation of scalars in YAML: plain, in quotation marks, or as a block of lines."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|\Z)(?:#[^\n]*\n\s*)*)*")
_PLAIN_START = re.compile(r"[^\W\d_]")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HEADER = re.compile(r"[|>]([-+\d]*)[^\r\n]*(\r\n|\r|\n)")
_INDENT = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*( *)")
_BLOCK_STYLES = ("|", ">")
_SHORT_WORDS = frozenset("yYnN")
"""True and false for some parsers."""
_LINE_FEEDS = re.compile(r"\n+")


def skip_properties(text: str, start: int, end: int) -> int:
    """Return where a scalar begins after its anchor and its tag."""
    found = _PROPERTIES.match(text, start, end)
    return start if found is None else found.end()


@dataclass(frozen=True, slots=True)
class ScalarNotation:
    """How a scalar is written."""

    end: int
    """Position after it; for a block, before its last line end."""
    style: str | None
    """Quotation mark, `|` or `>`; None for a plain scalar."""
    is_flow: bool
    """Whether it is within brackets or braces."""
    header: str = ""
    """First line of a block, with its line end."""
    indent: str = ""
    """Before each line of a block."""

    @classmethod
    def of(cls, text: str, start: int, end: int, style: str | None, *, is_flow: bool) -> "ScalarNotation":
        """Return the notation of a scalar in a text.

        Args:
            text: the file.
            start: position of the scalar, after its properties.
            end: position after it.
            style: style that the parser found.
            is_flow: whether it is within brackets or braces.
        """
        header = _HEADER.match(text, start, end) if style in _BLOCK_STYLES else None
        if header is None:
            return cls(end, style, is_flow)
        content = text[start:end].rstrip("\r\n")
        indent = _INDENT.match(text, header.end(), end)
        return cls(start + len(content), style, is_flow, header[0], "" if indent is None else indent[1])

    @property
    def keeps_line_ends(self) -> bool:
        """Whether line ends after a block are part of its text."""
        return "+" in self.header

    def write(self, text: str) -> str:
        """Return a text in this style if that can hold it, else in double quotation marks."""
        return next((one for one in self._candidates(text) if self._is_read_as(one, text)), _quoted(text))

    def _candidates(self, text: str) -> Iterator[str]:
        if self.style is None and _PLAIN_START.match(text) and text not in _SHORT_WORDS:
            yield text
        elif self.style == "'":
            yield "'{}'".format(text.replace("'", "''"))
        elif self.style in _BLOCK_STYLES:
            yield self._block(text)

    def _block(self, text: str) -> str:
        line_end = self.header[len(self.header.rstrip("\r\n")) :]
        lines = text.rstrip("\n")
        if self.style == ">":
            lines = _LINE_FEEDS.sub(lambda found: found[0] + "\n", lines)
        indented = [f"{self.indent}{line}" if line else "" for line in lines.split("\n")]
        return self.header + line_end.join(indented)

    def _is_read_as(self, written: str, text: str) -> bool:
        document = f"[{written}]" if self.is_flow else f"- {written}\n"
        try:
            return bool(yaml.safe_load(document) == [text])
        except (yaml.YAMLError, ValueError):
            return False


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
