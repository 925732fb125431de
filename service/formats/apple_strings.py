r"""Apple's `.strings`: the value of each key with words is an entry.

Keys, comments, spaces and the encoding stay. Values have escapes (`\n`, `\"`, `\U00fc`). A key without a
value is its own value. Specification: "Old-Style ASCII Property Lists" and "String Resources" in Apple's
archive of documentation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from service.formats.encodings import FileEncoding, encoding_from_mark
from service.formats.entries import FileFormatError
from service.formats.messages import has_words, message_unit
from service.formats.string_files import (
    LanguageTag,
    LineCounter,
    SelectedKeys,
    Slot,
    StringFormat,
    join_surrogates,
)

_BINARY = b"bplist"
_SPACE = re.compile(r"(?:[\s\u200e\u200f]|/\*(?:[^*]|\*(?!/))*\*/|//[^\n\r]*)*")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|((?:[\w.$:-]|/(?![/*]))+)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
_SPECIAL = re.compile(r"[\\\"\x00-\x1f\x7f]")
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MAX_ASCII = 0x7F
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class _Token:
    """A key or a value."""

    start: int
    end: int
    text: str


class AppleStringsFormat(StringFormat):
    """A file of strings in UTF-8 or UTF-16; options select keys."""

    def encoding_of(self, content: bytes) -> FileEncoding:
        """See `StringFormat`; UTF-16 may lack its byte order mark."""
        reject_binary(content)
        marked = encoding_from_mark(content)
        if marked is None and b"\0" in content[:2]:
            return FileEncoding("utf-16-be" if content.startswith(b"\0") else "utf-16-le")
        return marked or super().encoding_of(content)

    def slots(self, text: str, selected: SelectedKeys) -> Iterator[Slot | LanguageTag]:
        """See `StringFormat`."""
        reader = _Reader(text)
        at = reader.skip_space(0)
        while at < len(text):
            key = reader.token(at, "a key")
            value, at = reader.value(key)
            yield from reader.slot(key, value, selected)
            at = reader.skip_space(at)


class _Reader:
    """A single pass over a file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = LineCounter(text)

    def skip_space(self, at: int) -> int:
        """Return the position after white space and comments."""
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def token(self, at: int, name: str) -> _Token:
        """Return the key or value at a position."""
        found = _STRING.match(self._text, at)
        if found is None:
            raise self._error(at, f"{name} in quotation marks is expected")
        quoted = found[1] if found[1] is not None else found[2]
        text = found[3] if quoted is None else _ESCAPE.sub(lambda escape: self._decoded(escape, at), quoted)
        return _Token(at, found.end(), join_surrogates(text))

    def value(self, key: _Token) -> tuple[_Token | None, int]:
        """Return the value of a key, if it has one, and the position after its semicolon."""
        at = self.skip_space(key.end)
        value = None
        if self._text.startswith("=", at):
            value = self.token(self.skip_space(at + 1), "a value")
            at = self.skip_space(value.end)
        if not self._text.startswith(";", at):
            raise self._error(at, "an equals sign or a semicolon is expected")
        return value, at + 1

    def slot(self, key: _Token, value: _Token | None, selected: SelectedKeys) -> Iterator[Slot]:
        """Yield the slot of a value, or of a key that is its own value, if it has words."""
        text = key.text if value is None else value.text
        if not selected.has(key.text) or not has_words(text):
            return
        location = f"line {self._lines.line_of(key.start)}, key {key.text[:_MAX_SHOWN]}"
        if value is None:
            unit = message_unit(text, location, "", lambda translation: f' = "{_escape(translation)}"')
            yield Slot(key.end, key.end, unit)
            return
        raw = self._text[value.start : value.end]
        keeps_line_feeds = "\n" in raw and "\\n" not in raw

        def render(translation: str) -> str:
            lines = translation.split("\n") if keeps_line_feeds else [translation]
            return '"{}"'.format("\n".join(map(_escape, lines)))

        yield Slot(value.start, value.end, message_unit(text, location, raw, render))

    def _decoded(self, found: re.Match[str], at: int) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        if found[2]:
            code = int(found[2], 8)
            if code > _MAX_ASCII:
                raise self._error(
                    at, f"{found[0]} is an escape of the encoding NextStep; write the character"
                )
            return chr(code)
        return _NAMED.get(found[3], found[3])

    def _error(self, at: int, problem: str) -> FileFormatError:
        line = self._text.count("\n", 0, at) + 1
        shown = self._text[at : at + 20]
        return FileFormatError(f"line {line}: not a file of strings: {problem}, but {shown!a} is there")


def reject_binary(content: bytes) -> None:
    """Check by its beginning that a property list is text.

    Raises:
        FileFormatError: it is binary.
    """
    if content.startswith(_BINARY):
        raise FileFormatError("it is a binary property list; use the file of the project's sources")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: _WRITTEN.get(found[0]) or f"\\U{ord(found[0]):04x}", text)
