"""Pairs in TMX files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from dragoman.types import Pair
from service.formats.language_tags import matches_language
from service.formats.xml_tree import Chars, Element, Name
from service.formats.xml_units import XML_NAMESPACE, xml_units
from service.memories.pairs import SegmentPair

_UNIT = Name("", "tu")
_CODES = frozenset(["bpt", "ept", "it", "ph", "ut"])
"""Elements whose content is the code of another format, such as `%s`."""


@dataclass(slots=True)
class TmxPairs:
    """The pairs of one file in two languages. `num_skipped` is complete after the iteration."""

    source: IO[bytes]
    """Seekable file; it is read from its beginning."""
    pair: Pair
    """Languages; `de` matches `de-AT` too."""
    num_skipped: int = 0
    """Units without a pair: a language is missing, a segment is empty, or one has a code without content."""

    def __iter__(self) -> Iterator[SegmentPair]:
        """Yield the pairs, lazily.

        Raises:
            FileFormatError: the file cannot be read.
        """
        self.source.seek(0)
        for unit in xml_units(self.source, frozenset([_UNIT]), allows_doctype=True):
            if isinstance(unit, str):
                continue
            variants = unit.children("tuv")
            source, target = (_segment(variants, language) for language in self.pair)
            if source and target:
                yield SegmentPair(source, target)
            else:
                self.num_skipped += 1


def _segment(variants: Sequence[Element], language: str) -> str | None:
    """Return the text of the first variant in a language; None if there is none that plain text can hold."""
    for variant in variants:
        code = variant.attribute("lang", XML_NAMESPACE) or variant.attribute("lang") or ""
        if matches_language(code, language):
            segments = variant.children("seg")
            text = _text(segments[0]) if segments else None
            return text if text and text.strip() else None
    return None


def _text(element: Element) -> str | None:
    pieces: list[str] = []
    for node in element.nodes:
        if isinstance(node, Chars):
            pieces.append(node.text)
        elif isinstance(node, Element):
            inner = _text(node)
            if inner is None or (node.local in _CODES and not inner):
                return None
            pieces.append(inner)
    return "".join(pieces)
