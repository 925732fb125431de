"""Elements of an XML document as trees that reproduce it exactly."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


class Name(NamedTuple):
    """Name of an element or an attribute."""

    uri: str
    """Namespace; empty if there is none."""
    local: str


@dataclass(frozen=True, slots=True)
class Chars:
    """Text between tags."""

    text: str
    raw: str


@dataclass(frozen=True, slots=True)
class Miscellaneous:
    """A comment, a processing instruction, or a reference to an entity that is declared elsewhere."""

    raw: str


@dataclass(slots=True, eq=False)
class Element:
    """An element with its content."""

    name: Name
    prefix: str
    """Prefix of the written name, with its colon; empty without one."""
    attributes: dict[Name, str]
    open: str
    """Start tag as written; the whole element if that is empty."""
    nodes: list["Element | Chars | Miscellaneous"] = field(default_factory=list)
    close: str = ""
    """End tag as written; empty for an empty element."""

    @property
    def local(self) -> str:
        return self.name.local

    @property
    def inner(self) -> str:
        """Content as written, without the tags of the element."""
        return "".join(node.raw for node in self.nodes)

    @property
    def raw(self) -> str:
        return f"{self.open}{self.inner}{self.close}"

    def rewritten(self, changed: Mapping[int, str]) -> str:
        """Return the element with other text in place of some elements in it, by their ids."""
        return f"{self.open}{''.join(changed.get(id(node), node.raw) for node in self.nodes)}{self.close}"

    @property
    def bare_tag(self) -> str:
        """Start tag, or that of an empty element, without its end."""
        return self.open.removesuffix(">").removesuffix("/").rstrip()

    def child(self, local: str) -> "Element | None":
        """Return the first child element with this name, as `children` does."""
        return next(iter(self.children(local)), None)

    @property
    def text(self) -> str:
        """Text directly in the element, not in its children."""
        return "".join(node.text for node in self.nodes if isinstance(node, Chars))

    @property
    def elements(self) -> list["Element"]:
        return [node for node in self.nodes if isinstance(node, Element)]

    def children(self, local: str) -> list["Element"]:
        """Return the child elements with this name in the element's own namespace."""
        return [node for node in self.elements if node.name == Name(self.name.uri, local)]

    def attribute(self, local: str, uri: str = "") -> str | None:
        return self.attributes.get(Name(uri, local))

    @property
    def language(self) -> str:
        """Value of `xml:lang`, or of `lang`; empty without these."""
        return self.attribute("lang", XML_NAMESPACE) or self.attribute("lang") or ""

    def space_before(self, node: "Element") -> str:
        """Return the white space before an element in it; empty if there is none, or text."""
        i = self.nodes.index(node)
        before = self.nodes[i - 1] if i else None
        return before.raw if isinstance(before, Chars) and not before.text.strip() else ""


IS_SECTION = re.compile(r"\s*<!\[CDATA\[(?:(?!\]\]>).)*\]\]>\s*", re.DOTALL)
"""Matches content that is a CDATA section."""


def write_section(text: str) -> str:
    """Return a text as a CDATA section."""
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


_ATTRIBUTE = re.compile(r"""(?<!\s)\s++([^\s=/>"']++)\s*+=\s*+(?:"[^"]*+"|'[^']*+')""")


def without_attributes(tag: str, names: Collection[str]) -> str:
    """Return a start tag without the attributes of these local names."""
    return _ATTRIBUTE.sub(lambda found: "" if found[1].rpartition(":")[2] in names else found[0], tag)
