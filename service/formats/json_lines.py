"""JSON lines (https://jsonlines.org): one object per line; the strings of some keys are translated in place.

The rest of a line stays byte for byte: other keys, their order, spacing, and the notation of numbers.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.json_values import JsonNotation, JsonParser, JsonValue, join_names
from service.formats.lines import Line, read_lines
from service.formats.messages import check_unicode
from service.formats.parts import BytesFormat, Part, slot

DEFAULT_KEY = "text"
MAX_DEPTH = 100
"""Maximum nesting of lists and objects around a string that is translated."""

_MAX_SHOWN = 400
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # numbers may have any number of digits


class JsonLinesFormat(BytesFormat):
    """JSON lines in UTF-8: the non-blank strings of some keys are entries, those in a list one by one.

    A key within objects is a path with dots (`title.de`). A path goes through lists: `messages.content` is
    the content of every message. A line may lack a key, or have null for it. The default is the key `text`.
    """

    def __init__(self, options: FileOptions) -> None:
        """Store the keys, `options.columns`."""
        super().__init__(options)
        self._keys = options.columns or (DEFAULT_KEY,)

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        missing = set(self._keys)
        first_keys: tuple[str, ...] | None = None
        for line in read_lines(source):
            if not line.text.strip(" \t\r"):
                yield line.mark + line.text.encode() + line.ending
                continue
            walk = _LineParser(line.text, line.number, frozenset(self._keys))
            start = walk.skip_space(0)
            walk.expect(start, "{", "an object")
            root = walk.parse_value(start, MAX_DEPTH + 1)
            walk.check_end(root.end, "each line must have exactly one object")
            found = list(walk.parts(root, "", ""))
            missing -= walk.seen
            if first_keys is None:
                first_keys = tuple(member.name for member in root.members or ())
            yield from _line_parts(line, found)
        if missing and first_keys is not None:
            names = ", ".join(key for key in self._keys if key in missing)
            raise FileFormatError(
                f"no line has the key {names}; choose from the keys of the first line: "
                f"{', '.join(first_keys)[:_MAX_SHOWN] or 'none'}"
            )


class _LineParser(JsonParser):
    """A single pass over one line, which opens what may hold the requested keys."""

    def __init__(self, line: str, number: int, keys: frozenset[str]) -> None:
        super().__init__(line, _DECODER)
        self.seen: set[str] = set()
        """Requested keys that the line has, with any value."""
        self._number = number
        self._keys = keys
        self._prefixes = frozenset(
            ["", *(key[:at] for key in keys for at, character in enumerate(key) if character == ".")]
        )

    def error(self, at: int, problem: str) -> FileFormatError:
        return FileFormatError(f"line {self._number} is not a JSON object: character {at + 1}: {problem}")

    def opens(self, at: int, key: str, depth: int) -> bool:
        return depth > 0 and (key in self._prefixes or (self._text[at] == "[" and key in self._keys))

    def parts(self, value: JsonValue, key: str, path: str) -> Iterator[tuple[int, int, Part]]:
        """Yield the strings to translate in a value, with where each begins and ends.

        Args:
            value: the value.
            key: its path without positions in lists, as in the options.
            path: the same with positions in lists.
        """
        is_selected = key in self._keys
        if is_selected:
            self.seen.add(key)
        for member in value.members or ():
            names = join_names(key, member.name), join_names(path, member.name)
            yield from self.parts(member.value, *names)
        for number, item in enumerate(value.items or (), start=1):
            yield from self.parts(item, key, f"{path}[{number}]")
        if not is_selected or value.members is not None or value.items is not None:
            return
        location, raw = f"line {self._number}, key {path}", self._text[value.start : value.end]
        if value.text is None and raw != "null":
            raise FileFormatError(f"{location}: not a string; choose keys of strings or lists of strings")
        if value.text and not value.text.isspace():
            check_unicode(value.text, location)
            notation = JsonNotation(raw.isascii() and not value.text.isascii(), escapes_slashes=False)
            unit = slot(Entry(value.text, location), raw.encode(), partial(_encode, notation))
            yield value.start, value.end, unit


def _line_parts(line: Line, found: list[tuple[int, int, Part]]) -> Iterator[Part]:
    at = 0
    before = line.mark
    for start, end, part in found:
        yield before + line.text[at:start].encode()
        yield part
        at, before = end, b""
    yield before + line.text[at:].encode() + line.ending


def _encode(notation: JsonNotation, text: str) -> bytes:
    text.encode()  # a lone surrogate, which an escape could hide, is no text
    return notation.write(text).encode()
