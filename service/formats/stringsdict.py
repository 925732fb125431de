"""Plural rules of Apple's platforms (`.stringsdict`): property lists of strings by plural category.

Strings with words are entries: categories, the format around them, and variants by width or device. Plural
categories that the target language has besides are added. Keys, types and everything else stay byte for byte.
Specification: "Stringsdict File Format" in Apple's archive of documentation.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from service.formats.apple_strings import reject_binary
from service.formats.entries import FileFormatError
from service.formats.messages import has_words, message_unit
from service.formats.parts import TextPart, TextUnit
from service.formats.plural_forms import missing_members
from service.formats.string_files import SelectedKeys, join_keys
from service.formats.xml_tree import Chars, Element, Name
from service.formats.xml_units import XmlFormat, through_root, xml_units
from service.text.escaping import escape_xml
from service.text.plural_rules import CATEGORIES

_ROOT = re.compile(r"<plist[\s/>]")
_DICT, _KEY, _STRING = (Name("", local) for local in ("dict", "key", "string"))
_RULE = "NSStringFormatSpecTypeKey"
_PLURAL_RULE = "NSStringPluralRuleType"
_TYPE_KEYS = frozenset([_RULE, "NSStringFormatValueTypeKey"])
_BEGINNING_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Member:
    """A key of a dictionary with its value."""

    name: str
    key: Element
    value: Element
    spaces: tuple[str, str]
    """White space before the key and before the value."""


class StringsdictFormat(XmlFormat):
    """A property list of plural rules; options select keys."""

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        reject_binary(source.read(_BEGINNING_BYTES))
        source.seek(0)
        selected = SelectedKeys(self.options.columns)
        parts = xml_units(source, frozenset([_DICT]), allows_doctype=True)
        problem = "it is not a file of plural rules: <plist> with a <dict> is missing"
        yield from through_root(parts, _ROOT, problem)
        is_found = False
        for part in parts:
            if isinstance(part, Element):
                is_found = True
                yield from self._dictionary(part, "", selected)
            else:
                yield part
        if not is_found:
            raise FileFormatError(problem)
        selected.check_all_found()

    def _dictionary(self, element: Element, path: str, selected: SelectedKeys) -> Iterator[TextPart]:
        members = list(_members(element))
        by_value = {id(member.value): member for member in members}
        added = self._missing_members(members)
        last = next((member for member in reversed(members) if member.name in CATEGORIES), None)
        yield element.open
        for node in element.nodes:
            member = by_value.get(id(node))
            if member is None:
                yield node.raw
                continue
            yield from self._member(member, join_keys(path, member.name), selected)
            if member is last:
                for category, other in added.items():
                    path_of_added = join_keys(path, category)
                    if selected.has(path_of_added) and _is_text(other.value):
                        yield _added(other, category, f"key {path_of_added}", last.spaces)
        yield element.close

    def _member(self, member: _Member, path: str, selected: SelectedKeys) -> Iterator[TextPart]:
        value = member.value
        if value.name == _DICT:
            yield from self._dictionary(value, path, selected)
        elif member.name in _TYPE_KEYS or not selected.has(path) or not _is_text(value):
            yield value.raw
        else:
            yield value.open
            yield message_unit(value.text, f"key {path}", value.inner, escape_xml)
            yield value.close

    def _missing_members(self, members: list[_Member]) -> Mapping[str, _Member]:
        by_name = {member.name: member for member in members}
        rule = by_name.get(_RULE)
        if rule is None or rule.value.text.strip() != _PLURAL_RULE:
            return {}
        return missing_members(by_name, self.options.source, self.options.target)


def _members(dictionary: Element) -> Iterator[_Member]:
    key: Element | None = None
    space, space_of_key = "", ""
    for node in dictionary.nodes:
        if not isinstance(node, Element):
            space = node.raw if isinstance(node, Chars) else ""
            continue
        if node.name == _KEY:
            key, space_of_key = node, space
        elif key is not None:
            yield _Member(key.text, key, node, (space_of_key, space))
            key = None
        space = ""


def _added(other: _Member, category: str, location: str, spaces: tuple[str, str]) -> TextUnit:
    """Return the unit of a category, which is written like another one."""
    before, between = spaces
    key = f"{before}{other.key.open}{category}{other.key.close}{between}"
    value = other.value
    return message_unit(
        value.text, location, None, lambda new: f"{key}{value.open}{escape_xml(new)}{value.close}"
    )


def _is_text(value: Element) -> bool:
    is_plain = value.name == _STRING and all(isinstance(node, Chars) for node in value.nodes)
    return is_plain and has_words(value.text)
