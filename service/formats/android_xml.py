r"""String resources of Android: `strings.xml` and other files with the root `resources`.

Strings, items of plurals and of string arrays are entries. What has `translatable="false"` and references
such as `@string/app_name` stay, and so do all other resources. Plural categories that the target language has
besides are added. Inline tags move with their words; `xliff:g` is kept as it is. Specification: "String
resources" of Android's developer guide.

Escapes (`\'`, `\n`, `\u00e9`), quotation marks around significant spaces, and CDATA are read as aapt2 reads
them: outside of quotation marks, white space counts as one space, and none at both ends.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import IO

from service.formats.inline_runs import TextRun, enclosed, pair_halves, text_runs
from service.formats.messages import has_words, runs_unit, split_tags
from service.formats.parts import TextPart, TextUnit
from service.formats.plural_forms import missing_members
from service.formats.xml_tree import IS_SECTION, Chars, Element, Name, write_section
from service.formats.xml_units import XmlFormat, through_root, with_units, xml_units
from service.text.escaping import escape_xml
from service.text.tokens import InlineItem, TokenKind

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
    """Notation of a string."""

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
        is_cdata = is_text and IS_SECTION.fullmatch(element.inner) is not None
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
        """Return the content of the string."""
        pieces: list[str] = []
        for is_text, group in groupby(items, key=lambda item: item.kind is TokenKind.TEXT):
            if is_text:
                pieces.append(self.escape("".join(item.text for item in group)))
            else:
                pieces += [item.raw for item in group]
        if items and items[0].kind is TokenKind.TEXT:
            pieces[0] = self._keep_start(pieces[0])
        if items and items[-1].kind is TokenKind.TEXT:
            pieces[-1] = self._keep_end(pieces[-1])
        content = "".join(pieces)
        if self.is_quoted:
            content = f'"{content}"'
        if self.is_cdata:
            content = write_section(content)
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


_ROOT = re.compile(r"<resources[\s/>]")
_ITEM = Name("", "item")
_UNITS = frozenset(Name("", local) for local in ("string", "plurals", "string-array"))
_REFERENCE = re.compile(r"\s*(?:[@?](?:\+?[\w.]+:)?(?:[\w.]+/)?[\w.$-]+)\s*")
_PLACEHOLDER = Name("urn:oasis:names:tc:xliff:document:1.2", "g")
_QUANTITY = re.compile(r"(\bquantity\s*=\s*[\"'])[^\"']*")
_END_SPACE = re.compile(r"(?<![\\\s])\s+\Z|(?<=\\\s)\s+\Z")
_MAX_SHOWN = 200


class AndroidXmlFormat(XmlFormat):
    """A file of resources; texts equal to their entries leave it as it was."""

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        parts = xml_units(source, _UNITS, allows_doctype=True)
        problem = (
            "it is not a file of Android's resources: <resources> is missing; other kinds of .xml files "
            "are not supported"
        )
        yield from through_root(parts, _ROOT, problem)
        yield from with_units(parts, self._resource)

    def _resource(self, element: Element) -> Iterator[TextPart]:
        name = (element.attribute("name") or "")[:_MAX_SHOWN]
        if element.attribute("translatable") == "false":
            yield element.raw
        elif element.local == "string":
            yield from _string(element, f"{element.local} {name}")
        else:
            yield from self._items(element, f"{element.local} {name}")

    def _items(self, parent: Element, location: str) -> Iterator[TextPart]:
        items = parent.children("item")
        by_quantity = {item.attribute("quantity") or "": item for item in items}
        is_plural = parent.local == "plurals"
        added = missing_members(by_quantity, self.options.source, self.options.target) if is_plural else {}
        yield parent.open
        number = 0
        space = ""
        for node in parent.nodes:
            if not isinstance(node, Element) or node.name != _ITEM:
                space = node.raw if isinstance(node, Chars) else ""
                yield node.raw
                continue
            number += 1
            yield from _string(node, f"{location}, {node.attribute('quantity') or f'item {number}'}")
            if node is items[-1]:
                for quantity, item in added.items():
                    yield _added_item(item, quantity, f"{location}, {quantity}", space)
        yield parent.close


def _string(element: Element, location: str) -> Iterator[TextPart]:
    found = _runs(element, location)
    if not found:
        yield element.raw
        return
    yield element.open
    yield runs_unit(found, element.inner, AndroidNotation.of(element).write)
    yield element.close


def _added_item(item: Element, quantity: str, location: str, space: str) -> TextUnit | str:
    found = _runs(item, location)
    if not found:
        return ""
    opened = _QUANTITY.sub(lambda own: f"{own[1]}{quantity}", item.open, count=1)
    notation = AndroidNotation.of(item)
    return runs_unit(found, None, lambda items: f"{space}{opened}{notation.write(items)}{item.close}")


def _runs(element: Element, location: str) -> list[TextRun | InlineItem]:
    """Return the content of a string; empty if it has no words."""
    if not element.elements and _REFERENCE.fullmatch(element.text):
        return []
    items = list(_items(element, AndroidNotation.of(element)))
    if not has_words("".join(item.text for item in items)):
        return []
    return list(text_runs(pair_halves(items), location, keeps_space=True))


def _items(parent: Element, notation: AndroidNotation) -> Iterator[InlineItem]:
    reader = TextReader()
    for item in _trimmed(list(_nodes(parent))):
        if item.kind is not TokenKind.TEXT:
            yield item
            continue
        for part in split_tags(item.text):
            if part.kind is TokenKind.TEXT:
                yield from reader.read(part.text)
            else:
                yield replace(part, raw=notation.embed(part.raw))


def _nodes(parent: Element) -> Iterator[InlineItem]:
    """Yield the content of an element, with its texts as XML has them."""
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield InlineItem(TokenKind.TEXT, node.text)
        elif isinstance(node, Element) and node.name != _PLACEHOLDER and node.close:
            yield from enclosed(node.open, _nodes(node), node.close)
        else:
            is_word = isinstance(node, Element) and node.name == _PLACEHOLDER
            yield InlineItem(TokenKind.WORD if is_word else TokenKind.POINT, raw=node.raw)


def _trimmed(items: list[InlineItem]) -> list[InlineItem]:
    """Return the items without white space at both ends, which does not count."""
    if items and items[0].kind is TokenKind.TEXT:
        items[0] = replace(items[0], text=items[0].text.lstrip())
    if items and items[-1].kind is TokenKind.TEXT:
        items[-1] = replace(items[-1], text=_END_SPACE.sub("", items[-1].text))
    return items
