"""Codes among the words of XLIFF and TMX segments, as things that stay as they are."""

from collections.abc import Iterator, Sequence

from service.formats.running import Item, Kind, Running, paired, runnings
from service.formats.xml_units import Aside, Chars, Element
from service.markup.escaping import escape_xml

_CONTAINERS = frozenset(["g", "mrk", "pc", "hi"])
_HALVES = {
    **dict.fromkeys(["bx", "bpt", "sc", "sm"], "open"),
    **dict.fromkeys(["ex", "ept", "ec", "em"], "close"),
}
_KEYS = ("startRef", "rid", "i", "id")
"""Attributes that say which halves belong to each other, the surest first."""
_LINE_BREAKS = frozenset(["lb", "x-br", "br"])


def segment_runnings(element: Element, place: str) -> list[Running | Item]:
    """What is in a `source` or `seg` element; white space in it means what it is."""
    return list(runnings(paired(list(_content(element))), place, keeps_space=True))


def spell_segment(found: Sequence[Running | Item], texts: Sequence[str]) -> str:
    """The inside of a `target` or `seg` with translations, one for each text of the source."""
    given = iter(texts)
    spelt: list[str] = []
    for running in found:
        items = [running] if isinstance(running, Item) else running.with_text(next(given))
        spelt += [escape_xml(item.text) if item.kind is Kind.TEXT else item.raw for item in items]
    return "".join(spelt)


def _content(parent: Element) -> Iterator[Item]:
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield Item(Kind.TEXT, node.text)
        elif isinstance(node, Aside):
            yield Item(Kind.POINT, raw=node.raw)
        elif node.local in _CONTAINERS and node.close and not _is_protected(node):
            yield Item(Kind.OPEN, raw=node.open)
            yield from _content(node)
            yield Item(Kind.CLOSE, raw=node.close)
        elif node.local in _HALVES:
            key = next((found for name in _KEYS if (found := node.attribute(name)) is not None), "")
            yield Item(Kind.POINT, raw=node.raw, note=f"{_HALVES[node.local]}:{key}")
        else:
            ends_line = (node.attribute("ctype") or node.attribute("type")) in _LINE_BREAKS
            yield Item(Kind.WORD, raw=node.raw, ends_line=ends_line)


def _is_protected(element: Element) -> bool:
    return element.attribute("mtype") == "protected" or element.attribute("translate") == "no"
