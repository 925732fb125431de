"""JSON with the positions of its values (RFC 8259), so that some can be replaced and all others stay."""

import json
import re
from dataclasses import dataclass

from service.formats.entries import FileFormatError

MAX_DEPTH = 100
"""Maximum nesting of lists and objects."""

_SPACES = re.compile(r"[ \t\n\r]*")


def _reject_constant(name: str) -> object:
    raise FileFormatError(f"it is not valid JSON: {name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_reject_constant)
"""Numbers may have any number of digits."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value and where it is."""

    start: int
    end: int
    text: str | None = None
    """Of a string."""
    members: "tuple[JsonMember, ...] | None" = None
    """Of an object."""
    items: "tuple[JsonValue, ...] | None" = None
    """Of a list."""

    def get(self, name: str) -> "JsonValue | None":
        """Return the last member of this name, which is the one that programs read; None without any."""
        return next((member.value for member in reversed(self.members or ()) if member.name == name), None)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object; names may be there more than once."""

    name: str
    start: int
    """Position of the name's opening quotation mark."""
    name_end: int
    value: JsonValue


def parse_json(text: str) -> JsonValue:
    """Return the value that a text consists of.

    Raises:
        FileFormatError: it is not JSON, or nested too deeply.
    """
    parser = _Parser(text)
    value = parser.parse_value(parser.skip_space(0), MAX_DEPTH)
    at = parser.skip_space(value.end)
    if at < len(text):
        raise parser.error(at, "something follows the value")
    return value


class _Parser:
    """A single pass over a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def parse_value(self, at: int, depth: int) -> JsonValue:
        """Return the value that begins at `at`, within which may be as many levels as `depth`."""
        first = self._text[at : at + 1]
        if first and first in "{[":
            if not depth:
                raise self.error(at, f"it is nested more than {MAX_DEPTH} deep")
            return self._parse_object(at, depth - 1) if first == "{" else self._parse_list(at, depth - 1)
        decoded, end = self._decode(at)
        return JsonValue(at, end, str(decoded) if first == '"' else None)

    def skip_space(self, at: int) -> int:
        found = _SPACES.match(self._text, at)
        return at if found is None else found.end()

    def error(self, at: int, problem: str) -> FileFormatError:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return FileFormatError(f"line {line}, column {column}: not valid JSON: {problem}")

    def _parse_object(self, start: int, depth: int) -> JsonValue:
        members: list[JsonMember] = []
        at = self.skip_space(start + 1)
        if self._text.startswith("}", at):
            return JsonValue(start, at + 1, members=())
        while True:
            if not self._text.startswith('"', at):
                raise self.error(at, "a key in quotation marks is expected")
            name, name_end = self._decode(at)
            colon = self._expect(self.skip_space(name_end), ":", "a colon")
            value = self.parse_value(self.skip_space(colon), depth)
            members.append(JsonMember(str(name), at, name_end, value))
            at = self.skip_space(value.end)
            if self._text.startswith("}", at):
                return JsonValue(start, at + 1, members=tuple(members))
            at = self.skip_space(self._expect(at, ",", "a comma or a closing brace"))

    def _parse_list(self, start: int, depth: int) -> JsonValue:
        items: list[JsonValue] = []
        at = self.skip_space(start + 1)
        if self._text.startswith("]", at):
            return JsonValue(start, at + 1, items=())
        while True:
            items.append(self.parse_value(at, depth))
            at = self.skip_space(items[-1].end)
            if self._text.startswith("]", at):
                return JsonValue(start, at + 1, items=tuple(items))
            at = self.skip_space(self._expect(at, ",", "a comma or a closing bracket"))

    def _decode(self, at: int) -> tuple[object, int]:
        try:
            return _DECODER.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, error.msg) from error

    def _expect(self, at: int, character: str, name: str) -> int:
        if not self._text.startswith(character, at):
            raise self.error(at, f"{name} is expected")
        return at + 1


@dataclass(frozen=True, slots=True)
class JsonNotation:
    """How a file writes its strings."""

    is_ascii: bool
    """Whether all other characters are escaped."""
    escapes_slashes: bool

    @classmethod
    def of(cls, text: str) -> "JsonNotation":
        """Return the notation of a file."""
        is_ascii = text.isascii() and re.search(r"\\u(?!00[0-7])", text) is not None
        return cls(is_ascii, "\\/" in text)

    def write(self, text: str) -> str:
        """Return a string with its quotation marks."""
        written = json.dumps(text, ensure_ascii=self.is_ascii)
        return written.replace("/", "\\/") if self.escapes_slashes else written
