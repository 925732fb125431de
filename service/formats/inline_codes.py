"""Inline codes of XLIFF and TMX segments, as items that stay as they are."""

from collections.abc import Iterator, Mapping, Sequence

from service.formats.inline_runs import Item, Kind, Running, paired, runnings
from service.formats.xml_units import Aside, Chars, Element
from service.markup.escaping import escape_xml

_CONTAINERS = frozenset(["g", "mrk", "pc", "hi"])
_HALVES = {
    **dict.fromkeys(["bx", "bpt", "sc", "sm"], "open"),
    **dict.fromkeys(["ex", "ept", "ec", "em"], "close"),
}
_KEYS = ("startRef", "rid", "i", "id")
"""Attributes that pair the halves of a code, the most reliable first."""
_LINE_BREAKS = frozenset(["lb", "x-br", "br"])


def segment_runnings(
    element: Element, place: str, done: Mapping[str, Element] | None = None
) -> list[Running | Item]:
    """Return the content of a `source`, `seg-source` or `seg` element; its white space is significant.

    Args:
        element: segments marked in it (`mrk` of type `seg`) are separate texts.
        place: location of the texts.
        done: segments of the target that are already translated, by their `mid`.
    """
    return list(runnings(paired(list(_content(element, done or {}))), place, keeps_space=True))


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


def spell_segment(found: Sequence[Running | Item], texts: Sequence[str]) -> str:
    """Return the content of a `target` or `seg` with translations, one for each text of the source."""
    given = iter(texts)
    spelt: list[str] = []
    for running in found:
        items = [running] if isinstance(running, Item) else running.with_text(next(given))
        spelt += [escape_xml(item.text) if item.kind is Kind.TEXT else item.raw for item in items]
    return "".join(spelt)


def _content(parent: Element, done: Mapping[str, Element]) -> Iterator[Item]:
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield Item(Kind.TEXT, node.text)
        elif isinstance(node, Aside):
            yield Item(Kind.POINT, raw=node.raw)
        elif _is_segment(node):
            yield from _segment(node, done)
        elif node.local in _CONTAINERS and node.close and not _is_protected(node):
            yield Item(Kind.OPEN, raw=node.open)
            yield from _content(node, done)
            yield Item(Kind.CLOSE, raw=node.close)
        elif node.local in _HALVES:
            key = next((found for name in _KEYS if (found := node.attribute(name)) is not None), "")
            yield Item(Kind.POINT, raw=node.raw, note=f"{_HALVES[node.local]}:{key}")
        else:
            ends_line = (node.attribute("ctype") or node.attribute("type")) in _LINE_BREAKS
            yield Item(Kind.WORD, raw=node.raw, ends_line=ends_line)


def _segment(segment: Element, done: Mapping[str, Element]) -> Iterator[Item]:
    translated = done.get(segment.attribute("mid") or "")
    if translated is not None:
        yield Item(Kind.BREAK, raw=translated.raw)
        return
    yield Item(Kind.BREAK, raw=segment.open)
    yield from _content(segment, done)
    yield Item(Kind.BREAK, raw=segment.close)


def _is_segment(element: Element) -> bool:
    return element.local == "mrk" and element.attribute("mtype") == "seg"


def _is_protected(element: Element) -> bool:
    return element.attribute("mtype") == "protected" or element.attribute("translate") == "no"
