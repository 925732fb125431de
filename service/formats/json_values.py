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
    parser = JsonParser(text, _DECODER)
    value = parser.parse_value(parser.skip_space(0), MAX_DEPTH)
    parser.check_end(value.end, "something follows the value")
    return value


class JsonParser:
    """A single pass over a text; subclasses choose what to open in it."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder

    def skip_space(self, at: int) -> int:
        """Return the position of what follows the white space at `at`."""
        found = _SPACES.match(self._text, at)
        return at if found is None else found.end()

    def check_end(self, at: int, problem: str) -> None:
        """Raise a FileFormatError with this problem if more than white space follows `at`."""
        at = self.skip_space(at)
        if at < len(self._text):
            raise self.error(at, problem)

    def error(self, at: int, problem: str) -> FileFormatError:
        """Return the error for a problem at a position."""
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return FileFormatError(f"line {line}, column {column}: not valid JSON: {problem}")

    def opens(self, at: int, key: str, depth: int) -> bool:
        """Return whether to parse what is in a list or an object.

        Args:
            at: position of its bracket or brace.
            key: path of the keys around it, with dots.
            depth: number of levels that may be in what is around it.
        """
        del key
        if not depth:
            raise self.error(at, f"it is nested more than {MAX_DEPTH} deep")
        return True

    def parse_value(self, at: int, depth: int, key: str = "") -> JsonValue:
        """Return the value that begins at `at`, within which may be as many levels as `depth`."""
        first = self._text[at : at + 1]
        if first and first in "{[" and self.opens(at, key, depth):
            return self._parse_members(at, depth - 1, key)
        decoded, end = self.decode(at)
        return JsonValue(at, end, str(decoded) if first == '"' else None)

    def _parse_members(self, start: int, depth: int, key: str) -> JsonValue:
        """Return the list or the object that begins at `start`."""
        is_list = self._text[start] == "["
        closing, name = ("]", "bracket") if is_list else ("}", "brace")
        items, members = list[JsonValue](), list[JsonMember]()
        at = self.skip_space(start + 1)
        while not self._text.startswith(closing, at):
            if items:
                at = self.skip_space(self.expect(at, ",", f"a comma or a closing {name}"))
            if is_list:
                items.append(self.parse_value(at, depth, key))
            else:
                members.append(self._parse_member(at, depth, key))
                items.append(members[-1].value)
            at = self.skip_space(items[-1].end)
        if is_list:
            return JsonValue(start, at + 1, items=tuple(items))
        return JsonValue(start, at + 1, members=tuple(members))

    def _parse_member(self, at: int, depth: int, key: str) -> JsonMember:
        if not self._text.startswith('"', at):
            raise self.error(at, "a key in quotation marks is expected")
        decoded, end = self.decode(at)
        name, colon = str(decoded), self.expect(self.skip_space(end), ":", "a colon")
        value = self.parse_value(self.skip_space(colon), depth, join_names(key, name))
        return JsonMember(name, at, end, value)

    def decode(self, at: int) -> tuple[object, int]:
        """Return the whole value that begins at `at`, and where it ends."""
        try:
            return self._decoder.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, error.msg) from error
        except RecursionError as error:
            raise self.error(at, "it is nested too deeply") from error

    def expect(self, at: int, character: str, name: str) -> int:
        """Return the position after a character that must be at `at`."""
        if not self._text.startswith(character, at):
            raise self.error(at, f"{name} is expected")
        return at + 1


def join_names(path: str, name: str) -> str:
    """Return the path of a key within others."""
    return f"{path}.{name}" if path else name


@dataclass(frozen=True, slots=True)
class JsonNotation:
    """Notation of a file's strings."""

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
