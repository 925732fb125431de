"""Messages in YAML, as Rails, Symfony and many others have them: the scalars with words are entries.

Only these scalars change, each in its style if that can hold the translation. Keys, comments, anchors, tags,
aliases, numbers, dates and the words for true, false and null stay. A file whose only key at the top names
the source language gets that of the target. Plural categories that the target language has besides are added.
The parser is PyYAML's (YAML 1.1), which yields events: an alias is never expanded.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from service.formats.entries import FileFormatError, FileOptions
from service.formats.language_tags import matches_language, renamed_language
from service.formats.messages import has_words, message_unit
from service.formats.plural_forms import added_keys
from service.formats.string_files import (
    LanguageTag,
    SelectedKeys,
    Slot,
    StringFormat,
    join_keys,
    join_surrogates,
)

_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|\Z)(?:#[^\n]*\n\s*)*)*")
_PLAIN_START = re.compile(r"[^\W\d_]")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HEADER = re.compile(r"[|>]([-+\d]*)[^\r\n]*(\r\n|\r|\n)")
_INDENT = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*( *)")
_BLOCK_STYLES = ("|", ">")
_SHORT_WORDS = frozenset("yYnN")
"""True and false for some parsers."""
_LINE_FEEDS = re.compile(r"\n+")


def skip_properties(text: str, start: int, end: int) -> int:
    """Return where a scalar begins after its anchor and its tag."""
    found = _PROPERTIES.match(text, start, end)
    return start if found is None else found.end()


@dataclass(frozen=True, slots=True)
class ScalarNotation:
    """Notation of a scalar."""

    end: int
    """Position after it; for a block, before its last line end."""
    style: str | None
    """Quotation mark, `|` or `>`; None for a plain scalar."""
    is_flow: bool
    """Whether it is within brackets or braces."""
    header: str = ""
    """First line of a block, with its line end."""
    indent: str = ""
    """Before each line of a block."""

    @classmethod
    def of(cls, text: str, start: int, end: int, style: str | None, *, is_flow: bool) -> "ScalarNotation":
        """Return the notation of a scalar in a text.

        Args:
            text: the file.
            start: position of the scalar, after its properties.
            end: position after it.
            style: style that the parser found.
            is_flow: whether it is within brackets or braces.
        """
        header = _HEADER.match(text, start, end) if style in _BLOCK_STYLES else None
        if header is None:
            return cls(end, style, is_flow)
        content = text[start:end].rstrip("\r\n")
        indent = _INDENT.match(text, header.end(), end)
        return cls(start + len(content), style, is_flow, header[0], "" if indent is None else indent[1])

    @property
    def keeps_line_ends(self) -> bool:
        """Return whether line ends after a block are part of its text."""
        return "+" in self.header

    def write(self, text: str) -> str:
        """Return a text in this style if that can hold it, else in double quotation marks."""
        return next((one for one in self._candidates(text) if self._is_read_as(one, text)), _quoted(text))

    def _candidates(self, text: str) -> Iterator[str]:
        if self.style is None and _PLAIN_START.match(text) and text not in _SHORT_WORDS:
            yield text
        elif self.style == "'":
            yield "'{}'".format(text.replace("'", "''"))
        elif self.style in _BLOCK_STYLES:
            yield self._block(text)

    def _block(self, text: str) -> str:
        line_end = self.header[len(self.header.rstrip("\r\n")) :]
        lines = text.rstrip("\n")
        if self.style == ">":
            lines = _LINE_FEEDS.sub(lambda found: found[0] + "\n", lines)
        indented = [f"{self.indent}{line}" if line else "" for line in lines.split("\n")]
        return self.header + line_end.join(indented)

    def _is_read_as(self, written: str, text: str) -> bool:
        document = f"[{written}]" if self.is_flow else f"- {written}\n"
        try:
            return bool(yaml.safe_load(document) == [text])
        except (yaml.YAMLError, ValueError):
            return False


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


MAX_DEPTH = 100
"""Maximum nesting of mappings and sequences."""

_STRING = "tag:yaml.org,2002:str"
_OTHER_IN_1_2 = re.compile(r"[yYnN]|[-+]?[\d.]+[eE][-+]?\d+|0o[0-7]+")
"""Plain scalars that are strings in YAML 1.1, but numbers in 1.2, or true and false in some parsers."""


_SYMBOL = re.compile(r":[A-Za-z_]\w*[?!=]?")
"""Symbol of Ruby, as in Rails' `order: [ :year, :month, :day ]`."""
_BLANKS = "\0 \t\r\n\x85\u2028\u2029"


class _Loader(yaml.SafeLoader):
    """Reads plain scalars that begin with a colon within brackets, too, as YAML 1.2 and Ruby do."""

    depth = 0
    """Collections around what comes next."""

    def check_plain(self) -> bool:
        return self._begins_symbol() or bool(super().check_plain())

    def check_value(self) -> bool:
        return not self._begins_symbol() and bool(super().check_value())

    def _begins_symbol(self) -> bool:
        """Return whether a colon is next that separates nothing: after a blank or bracket, before a word."""
        if not self.flow_level or self.peek() != ":" or self.peek(1) in f"{_BLANKS},:[]{{}}":
            return False
        return self.pointer > 0 and self.buffer[self.pointer - 1] in f"{_BLANKS},[{{"

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return a node, whose tag is empty if the file names it; None for an alias."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # in the stubs
        if isinstance(event, yaml.AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]  # in the stubs
            return None
        if self.depth == MAX_DEPTH and not isinstance(event, yaml.ScalarEvent):
            line = event.start_mark.line + 1
            raise FileFormatError(f"line {line}: it is nested more than {MAX_DEPTH} deep")
        self.anchors = {}  # nothing looks them up
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None and event.tag is not None:
            node.tag = ""
        return node


@dataclass(slots=True)
class _Scalar:
    """A scalar, and whether it is a string."""

    start: int
    """Position after its anchor and tag."""
    line: int
    """Number of its line, from 1."""
    text: str | None
    """None for numbers and the like, and for a scalar with a tag."""
    notation: ScalarNotation


class YamlFormat(StringFormat):
    """A YAML file of messages.

    A path of keys with dots selects a text, or all within a mapping or a sequence.
    """

    def slots(self, text: str, selected: SelectedKeys) -> Iterator[Slot | LanguageTag]:
        """See `StringFormat`."""
        found = _Walk(text, self.options, selected).slots()
        yield from sorted(found, key=lambda slot: (slot.start, slot.end))


class _Walk:
    """A single pass over the events of a file."""

    def __init__(self, text: str, options: FileOptions, selected: SelectedKeys) -> None:
        self._text = text
        self._options = options
        self._selected = selected
        self._slots: list[Slot | LanguageTag] = []
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    def slots(self) -> list[Slot | LanguageTag]:
        """Return what is replaced.

        Raises:
            FileFormatError: the file is not YAML, or nested too deeply.
        """
        try:
            for root in yaml.compose_all(self._text, _Loader):
                self._visit(root, "", is_flow=False)
                self._rename_language(root)
        except yaml.YAMLError as error:
            raise _syntax_error(error) from error
        return self._slots

    def _visit(self, node: yaml.Node | None, path: str, *, is_flow: bool) -> _Scalar | None:
        """Add the slots in a value; return it if it is a message."""
        scalar = self._scalar(node, is_flow=is_flow)
        if scalar is not None:
            return scalar if self._translate(scalar, path) else None
        if isinstance(node, yaml.MappingNode):
            self._visit_mapping(node, path)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                self._visit(item, path, is_flow=node.flow_style is True)
        return None

    def _visit_mapping(self, mapping: yaml.MappingNode, path: str) -> None:
        keys, values = list[_Scalar | None](), list[_Scalar | None]()
        is_flow = mapping.flow_style is True
        for key_node, value_node in mapping.value:
            key, path_of_value = self._scalar(key_node, is_flow=is_flow), path
            if key is None:
                self._visit(key_node, path, is_flow=is_flow)
            else:
                name = self._text[key.start : key.notation.end] if key.text is None else key.text
                path_of_value = join_keys(path, name)
            keys.append(key)
            values.append(self._visit(value_node, path_of_value, is_flow=is_flow))
        names = [
            None if key is None or value is None else key.text
            for key, value in zip(keys, values, strict=True)
        ]
        for i, added in added_keys(names, self._options).items():
            key, value = keys[i], values[i]
            for one in added:
                other = values[one.text_of]
                if key is not None and value is not None and other is not None:
                    location = _location(value.line, join_keys(path, one.name))
                    self._slots += self._added(key, value, one.name, other.text or "", location)

    def _rename_language(self, root: yaml.Node | None) -> None:
        """Add the tag of the language if the only key of a document names it."""
        if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
            return
        key = self._scalar(root.value[0][0], is_flow=root.flow_style is True)
        name = "" if key is None else key.text or ""
        is_mapping = isinstance(root.value[0][1], yaml.MappingNode)
        if key is not None and is_mapping and matches_language(name, self._options.source):
            renamed = key.notation.write(renamed_language(name, self._options.target))
            self._slots.append(LanguageTag(key.start, key.notation.end, renamed))

    def _scalar(self, node: yaml.Node | None, *, is_flow: bool) -> _Scalar | None:
        if not isinstance(node, yaml.ScalarNode):
            return None
        start, end, value = node.start_mark.index, node.end_mark.index, str(node.value)
        start = skip_properties(self._text, start, end)
        notation = ScalarNotation.of(self._text, start, end, node.style, is_flow=is_flow)
        is_other = node.style is None and (_OTHER_IN_1_2.fullmatch(value) or _SYMBOL.fullmatch(value))
        text = None if node.tag != _STRING or is_other else join_surrogates(value)
        return _Scalar(start, node.start_mark.line + 1, text, notation)

    def _translate(self, scalar: _Scalar | None, path: str) -> bool:
        """Add the slot of a value; return whether it is a message."""
        if scalar is None or scalar.text is None or not self._selected.has(path):
            return False
        if not has_words(scalar.text):
            return False
        location = _location(scalar.line, path)
        raw = self._text[scalar.start : scalar.notation.end]
        unit = message_unit(scalar.text, location, raw, scalar.notation.write)
        self._slots.append(Slot(scalar.start, scalar.notation.end, unit))
        return True

    def _added(self, key: _Scalar, after: _Scalar, name: str, text: str, location: str) -> Iterator[Slot]:
        """Yield the slot of a key after another one, on a line of its own in block style."""
        at = after.notation.end
        before = ", "
        if after.notation.keeps_line_ends:
            return  # blank lines after it are part of its text
        if not after.notation.is_flow:
            line_start = self._text.rfind("\n", 0, key.start) + 1
            line_end = self._text.find("\n", at)
            at = len(self._text) if line_end < 0 else line_end - self._text.endswith("\r", 0, line_end)
            before = f"{self._line_end}{' ' * (key.start - line_start)}"
        before += f"{key.notation.write(name)}: "
        yield Slot(at, at, message_unit(text, location, None, lambda new: before + after.notation.write(new)))


def _location(line: int, path: str) -> str:
    return f"line {line}, key {path}" if path else f"line {line}"


def _syntax_error(error: yaml.YAMLError) -> FileFormatError:
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if mark is not None:
        return FileFormatError(f"line {mark.line + 1}, column {mark.column + 1}: not valid YAML: {problem}")
    return FileFormatError(f"it is not valid YAML: {str(error)[:200]}")
