"""Resources of .NET (`.resx`, `.resw`): the value of each string with words is an entry.

Comments, types, headers and other data stay, and so do the designer's notes about controls (`>>name`).
Specification: "Resources in .resx files" of .NET's documentation.
"""

import re
from collections.abc import Iterator
from typing import IO

from service.formats.messages import has_words, message_unit
from service.formats.parts import TextPart
from service.formats.xml_tree import IS_SECTION, Chars, Element, Name, write_section
from service.formats.xml_units import XmlFormat, through_root, with_units, xml_units
from service.text.escaping import escape_xml

_DATA = Name("", "data")
_ROOT = re.compile(r"<root[\s/>]")
_DESIGNER = ">>"
_STRING = "System.String"
_MAX_SHOWN = 200


class ResxFormat(XmlFormat):
    """A file of resources; texts equal to their entries leave it as it was."""

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        parts = xml_units(source, frozenset([_DATA]))
        yield from through_root(parts, _ROOT, "it is not a file of .NET resources: <root> is missing")
        yield from with_units(parts, _data)


def _data(data: Element) -> Iterator[TextPart]:
    name = data.attribute("name") or ""
    kind = data.attribute("type")
    is_string = data.attribute("mimetype") is None and (kind is None or kind.split(",")[0] == _STRING)
    values = data.children("value")
    if not is_string or name.startswith(_DESIGNER) or len(values) != 1 or not _is_text(values[0]):
        yield data.raw
        return
    [value] = values
    is_cdata = IS_SECTION.fullmatch(value.inner) is not None
    at = data.nodes.index(value)
    yield data.open + "".join(node.raw for node in data.nodes[:at]) + value.open
    yield message_unit(
        value.text, f"data {name[:_MAX_SHOWN]}", value.inner, write_section if is_cdata else escape_xml
    )
    yield value.close + "".join(node.raw for node in data.nodes[at + 1 :]) + data.close


def _is_text(value: Element) -> bool:
    return all(isinstance(node, Chars) for node in value.nodes) and has_words(value.text)
