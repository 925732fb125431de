"""XML as it comes, compared with lxml."""

from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from service.formats import xml_units as module
from service.formats.entries import FileFormatError
from service.formats.xml_tree import Element, Name
from service.formats.xml_units import xml_encoder, xml_units
from tests.text.markup.marked import XML_FRAGMENTS

UNITS = frozenset([Name("", "b"), Name("", "p"), Name("urn:n", "s")])


def _read(content: bytes, units: frozenset[Name] = UNITS) -> list[str | Element]:
    return list(xml_units(BytesIO(content), units, allows_doctype=True))


def _all(parts: list[str | Element]) -> str:
    return "".join(part if isinstance(part, str) else part.raw for part in parts)


@settings(max_examples=250)
@given(XML_FRAGMENTS, st.sampled_from(["utf-8", "utf-16", "iso-8859-15"]), st.integers(1, 50))
def test_all_of_a_document_is_given_back(inner: str, encoding: str, chunk_bytes: int) -> None:
    document = (
        f'<?xml version="1.0" encoding="{encoding}"?>\r\n<doc xmlns:n="urn:n">{inner}</doc>\n<!-- c -->'
    )
    content = document.encode(encoding, "xmlcharrefreplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK_BYTES", chunk_bytes)
        parts = _read(content)

    assert xml_encoder(BytesIO(content))(_all(parts)) == content


def _described(element: Element) -> tuple[object, ...]:
    children = [_described(child) for child in element.elements]
    return (element.name.uri, element.name.local, sorted(element.attributes.values()), element.text, children)


def _described_by_lxml(element: etree._Element) -> tuple[object, ...]:
    name = etree.QName(element)
    inside = element.iterchildren("*")
    text = (element.text or "") + "".join(child.tail or "" for child in element)
    children = [_described_by_lxml(child) for child in inside]
    return (name.namespace or "", name.localname, sorted(map(str, element.attrib.values())), text, children)


@settings(max_examples=250)
@given(XML_FRAGMENTS)
def test_trees_are_what_lxml_finds(inner: str) -> None:
    content = f'<doc xmlns:n="urn:n">{inner}</doc>'.encode()
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False))

    found = [_described(part) for part in _read(content) if isinstance(part, Element)]

    names = {f"{{{name.uri}}}{name.local}" if name.uri else name.local for name in UNITS}
    outermost = [
        element
        for element in root.iter()
        if element.tag in names and not any(above.tag in names for above in element.iterancestors())
    ]
    assert found == [_described_by_lxml(element) for element in outermost]


def test_no_more_than_a_unit_is_held() -> None:
    class Endless(BytesIO):
        """A document that never ends."""

        num_read = 0

        def read(self, size: int | None = -1, /) -> bytes:
            del size
            self.num_read += 1
            if self.num_read > 1000:
                raise AssertionError("read too far")
            return b"<doc>" if self.num_read <= 2 else b"<p>x</p>" * 100

    parts = xml_units(Endless(), UNITS)

    assert sum(isinstance(next(parts), Element) for _ in range(2000)) > 1000


def test_units_are_not_searched_for_in_what_is_left_alone() -> None:
    content = b"<doc><p>a</p><x><p>b</p><x/></x><p>c</p></doc>"

    parts = list(xml_units(BytesIO(content), UNITS, untranslated=frozenset([Name("", "x")])))

    assert [part.text for part in parts if isinstance(part, Element)] == ["a", "c"]


def test_entities_declared_elsewhere_are_not_looked_up() -> None:
    content = b'<!DOCTYPE d SYSTEM "file:///etc/passwd"><d><p>a&nbsp;b</p></d>'

    assert _all(_read(content)).encode() == content


@pytest.mark.parametrize(
    "inner",
    ["<i/>" * 60, "x<i/>" * 30, "<!-- c -->" * 60, "".join(f'<i a{n}="1" b="2"/>' for n in range(20))],
    ids=["elements", "texts", "comments", "attributes"],
)
def test_a_unit_has_a_limit_of_nodes(inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree takes a hundred times the memory of what it is read from."""
    monkeypatch.setattr(module, "MAX_UNIT_NODES", 50)
    with pytest.raises(FileFormatError, match="a unit has more than 50 elements"):
        _read(f"<doc><p>{inner}</p></doc>".encode())


def test_nodes_are_counted_for_each_unit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNIT_NODES", 50)
    document = "<doc>" + ("<p>" + "<i/>" * 20 + "</p>") * 10 + "</doc>"
    assert _all(_read(document.encode())) == document
