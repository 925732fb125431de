r"""Texts of Android's strings: escapes (`\'`, `\n`, `é`), quotation marks around significant spaces, CDATA.

As aapt2 reads them: outside of quotation marks, white space counts as one space, and none at both ends.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.formats.xml_tree import Chars, Element
from service.text.escaping import escape_xml
from service.text.tokens import InlineItem, TokenKind

_CDATA = re.compile(r"\s*<!\[CDATA\[(?:(?!\]\]>).)*\]\]>\s*", re.DOTALL)
_QUOTED = re.compile(r'\s*"(?:[^"\\]|\\.)*"\s*', re.DOTALL)
_TOKEN = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)|(\")|(\s+)|[^\\\"\s]+|.",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "\\": "\\", "@": "@", "?": "?", "#": "#", " ": " "}
_SPECIAL = re.compile("[\\\\'\"\n\t\u00a0\u00ad\u200b-\u200f\u2028\u2029\u2060\ufeff]")
_NAMES = {"\n": "\\n", "\t": "\\t"}


class TextReader:
    """Decodes the texts of one string, within which a quotation mark may span elements."""

    def __init__(self) -> None:
        self._is_quoted = False

    def read(self, text: str) -> Iterator[InlineItem]:
        """Yield a text without its escapes; those that Android does not know are items that stay."""
        pieces: list[str] = []
        for found in _TOKEN.finditer(text):
            piece = self._decode(found)
            if piece is not None:
                pieces.append(piece)
                continue
            if pieces:
                yield InlineItem(TokenKind.TEXT, "".join(pieces))
                pieces = []
            yield InlineItem(TokenKind.POINT, raw=escape_xml(found[0]))
        if pieces:
            yield InlineItem(TokenKind.TEXT, "".join(pieces))

    def _decode(self, found: re.Match[str]) -> str | None:
        high, low, single, escaped, quote, space = found.groups()
        if high is not None:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        if single is not None:
            character = chr(int(single, 16))
            return character if character.isprintable() or character in "\n\t\u00a0" else None
        if escaped is not None:
            return _ESCAPES.get(escaped)
        if quote is not None:
            self._is_quoted = not self._is_quoted
            return ""
        if space is not None:
            return space if self._is_quoted else " "
        return found[0] if found[0] != "\\" else None


@dataclass(frozen=True, slots=True)
class AndroidNotation:
    """How a string is written."""

    is_cdata: bool
    is_quoted: bool
    """Whether quotation marks are around all of it."""
    before: str
    """White space before it, which does not count."""
    after: str

    @classmethod
    def of(cls, element: Element) -> "AndroidNotation":
        """Return the notation of a string, by its content."""
        first, last = (element.nodes[0], element.nodes[-1]) if element.nodes else (None, None)
        is_text = len(element.nodes) == 1 and isinstance(first, Chars)
        is_cdata = is_text and _CDATA.fullmatch(element.inner) is not None
        is_quoted = is_text and _QUOTED.fullmatch(element.text) is not None
        before = first.raw[: len(first.raw) - len(first.raw.lstrip())] if isinstance(first, Chars) else ""
        after = last.raw[len(last.raw.rstrip()) :] if isinstance(last, Chars) else ""
        return cls(is_cdata, is_quoted, before, after)

    def escape(self, text: str) -> str:
        """Return a text as part of the string."""
        escaped = _SPECIAL.sub(lambda found: self._escaped(found[0]), text)
        if not self.is_quoted:
            escaped = re.sub("(?<= ) ", r"\\u0020", escaped)
        return self.embed(escaped)

    def embed(self, text: str) -> str:
        """Return a text with Android's escapes as XML has it in the string."""
        return text if self.is_cdata else escape_xml(text)

    def write(self, items: Sequence[InlineItem]) -> str:
        """Return the content of the string.

        Args:
            items: its items, with consecutive texts merged.
        """
        pieces = [self.escape(item.text) if item.kind is TokenKind.TEXT else item.raw for item in items]
        if items and items[0].kind is TokenKind.TEXT:
            pieces[0] = self._keep_start(pieces[0])
        if items and items[-1].kind is TokenKind.TEXT:
            pieces[-1] = self._keep_end(pieces[-1])
        content = "".join(pieces)
        if self.is_quoted:
            content = f'"{content}"'
        if self.is_cdata:
            content = f"<![CDATA[{content.replace(']]>', ']]]]><![CDATA[>')}]]>"
        return f"{self.before}{content}{self.after}"

    def _escaped(self, character: str) -> str:
        if character in "\\\"'":
            return character if character == "'" and self.is_quoted else f"\\{character}"
        return _NAMES.get(character) or f"\\u{ord(character):04X}"

    def _keep_start(self, text: str) -> str:
        if self.is_quoted:
            return text
        return re.sub("^ ", r"\\u0020", re.sub(r"^([@?])", r"\\\1", text))

    def _keep_end(self, text: str) -> str:
        return text if self.is_quoted else re.sub(" $", r"\\u0020", text)
