"""JSON lines (https://jsonlines.org): one object per line; the strings of some keys are translated in place.

The rest of a line stays byte for byte: other keys, their order, spacing, and the notation of numbers.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import BinaryIO

from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.json_values import JsonScanner
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
            end = walk.parse_object(start, "", "", MAX_DEPTH)
            walk.check_end(end, "each line must have exactly one object")
            missing -= walk.seen
            if first_keys is None:
                first_keys = tuple(walk.top_keys)
            yield from _line_parts(line, walk.found)
        if missing and first_keys is not None:
            names = ", ".join(key for key in self._keys if key in missing)
            raise FileFormatError(
                f"no line has the key {names}; choose from the keys of the first line: "
                f"{', '.join(first_keys)[:_MAX_SHOWN] or 'none'}"
            )


class _LineParser(JsonScanner):
    """A single pass over one line."""

    def __init__(self, line: str, number: int, keys: frozenset[str]) -> None:
        super().__init__(line, _DECODER)
        self.found: list[tuple[int, int, Part]] = []
        """Strings to translate, with where each begins and ends."""
        self.seen: set[str] = set()
        """Requested keys that the line has, with any value."""
        self.top_keys: list[str] = []
        self._number = number
        self._keys = keys
        self._prefixes = frozenset(
            key[:at] for key in keys for at, character in enumerate(key) if character == "."
        )

    def error(self, at: int, problem: str) -> FileFormatError:
        return FileFormatError(f"line {self._number} is not a JSON object: character {at + 1}: {problem}")

    def parse_object(self, start: int, key: str, path: str, depth: int) -> int:
        """Parse the object that begins at `start`, collect its strings, and return where it ends.

        Args:
            start: position of its opening brace.
            key: path to the object without positions in lists, as in the options.
            path: the same with positions in lists.
            depth: number of levels that may be inside.
        """

        def parse_member(at: int) -> int:
            name, _, at = self.parse_name(at)
            if not key:
                self.top_keys.append(name)
            return self._parse_value(at, _join_path(key, name), _join_path(path, name), depth)

        return self.parse_items(start, parse_member)

    def _parse_value(self, at: int, key: str, path: str, depth: int) -> int:
        is_selected = key in self._keys
        if is_selected:
            self.seen.add(key)
        first = self._text[at : at + 1]
        if depth and first == "{" and key in self._prefixes:
            return self.parse_object(at, key, path, depth - 1)
        if depth and first == "[" and (is_selected or key in self._prefixes):
            positions = count(1)
            return self.parse_items(
                at, lambda at: self._parse_value(at, key, f"{path}[{next(positions)}]", depth - 1)
            )
        value, end = self.decode(at)
        if is_selected and isinstance(value, str) and first == '"':
            if value and not value.isspace():
                check_unicode(value, f"line {self._number}, key {path}")
                raw = self._text[at:end]
                is_escaped = raw.isascii() and not value.isascii()
                entry = Entry(value, f"line {self._number}, key {path}")
                render = _encode_ascii_string if is_escaped else _encode_string
                self.found.append((at, end, slot(entry, raw.encode(), render)))
        elif is_selected and value is not None:
            raise FileFormatError(
                f"line {self._number}, key {path}: not a string; choose keys of strings or lists of strings"
            )
        return end


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _line_parts(line: Line, found: list[tuple[int, int, Part]]) -> Iterator[Part]:
    at = 0
    before = line.mark
    for start, end, part in found:
        yield before + line.text[at:start].encode()
        yield part
        at, before = end, b""
    yield before + line.text[at:].encode() + line.ending


def _encode_string(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _encode_ascii_string(text: str) -> bytes:
    """Encode the text of a value that was written in ASCII, with escapes such as the one for ü."""
    text.encode()
    return json.dumps(text).encode()
