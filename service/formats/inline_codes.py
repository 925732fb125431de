"""Inline codes of XLIFF and TMX segments, as items that stay as they are."""

from collections.abc import Iterator, Mapping, Sequence

from service.formats.inline_runs import Item, Kind, TextRun, pair_halves, text_runs
from service.formats.xml_units import Chars, Element, Miscellaneous
from service.markup.escaping import escape_xml

_CONTAINERS = frozenset(["g", "mrk", "pc", "hi"])
_HALVES = {
    **dict.fromkeys(["bx", "bpt", "sc", "sm"], "open"),
    **dict.fromkeys(["ex", "ept", "ec", "em"], "close"),
}
_KEYS = ("startRef", "rid", "i", "id")
"""Attributes that pair the halves of a code, the most reliable first."""
_LINE_BREAKS = frozenset(["lb", "x-br", "br"])


def parse_segment(
    element: Element, place: str, translated_segments: Mapping[str, Element] | None = None
) -> list[TextRun | Item]:
    """Return the content of a `source`, `seg-source` or `seg` element; its white space is significant.

    Args:
        element: segments marked in it (`mrk` of type `seg`) are separate texts.
        place: location of the texts.
        translated_segments: segments of the target that are already translated, by their `mid`.
    """
    return list(
        text_runs(pair_halves(list(_content(element, translated_segments or {}))), place, keeps_space=True)
    )


def marked_segments(element: Element) -> Iterator[Element]:
    """Yield the segments marked in a `seg-source` or `target`, in order."""
    for child in element.elements:
        if _is_segment(child):
            yield child
        else:
            yield from marked_segments(child)


def has_text_between_segments(element: Element) -> bool:
    return any(
        bool(node.text.strip())
        if isinstance(node, Chars)
        else isinstance(node, Element) and not _is_segment(node) and has_text_between_segments(node)
        for node in element.nodes
    )


def write_segment(found: Sequence[TextRun | Item], texts: Sequence[str]) -> str:
    """Return the content of a `target` or `seg` with translations, one for each text of the source."""
    translations = iter(texts)
    written: list[str] = []
    for running in found:
        items = [running] if isinstance(running, Item) else running.with_text(next(translations))
        written += [escape_xml(item.text) if item.kind is Kind.TEXT else item.raw for item in items]
    return "".join(written)


def _content(parent: Element, translated_segments: Mapping[str, Element]) -> Iterator[Item]:
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield Item(Kind.TEXT, node.text)
        elif isinstance(node, Miscellaneous):
            yield Item(Kind.POINT, raw=node.raw)
        elif _is_segment(node):
            yield from _segment(node, translated_segments)
        elif node.local in _CONTAINERS and node.close and not _is_protected(node):
            yield Item(Kind.OPEN, raw=node.open)
            yield from _content(node, translated_segments)
            yield Item(Kind.CLOSE, raw=node.close)
        elif node.local in _HALVES:
            key = next((found for name in _KEYS if (found := node.attribute(name)) is not None), "")
            yield Item(Kind.POINT, raw=node.raw, note=f"{_HALVES[node.local]}:{key}")
        else:
            ends_line = (node.attribute("ctype") or node.attribute("type")) in _LINE_BREAKS
            yield Item(Kind.WORD, raw=node.raw, ends_line=ends_line)


def _segment(segment: Element, translated_segments: Mapping[str, Element]) -> Iterator[Item]:
    translated = translated_segments.get(segment.attribute("mid") or "")
    if translated is not None:
        yield Item(Kind.BREAK, raw=translated.raw)
        return
    yield Item(Kind.BREAK, raw=segment.open)
    yield from _content(segment, translated_segments)
    yield Item(Kind.BREAK, raw=segment.close)


def _is_segment(element: Element) -> bool:
    return element.local == "mrk" and element.attribute("mtype") == "seg"


def _is_protected(element: Element) -> bool:
    return element.attribute("mtype") == "protected" or element.attribute("translate") == "no"
