r"""Java's `.properties` (java.util.Properties): the value of each key with words is an entry.

Comments, keys, separators and blank lines stay. A file that is not UTF-8 is in ISO-8859-1, as Java 9 and
later read it. In a file of ASCII only, and for characters that ISO-8859-1 lacks, translations have escapes
such as `\u00fc`. A value with arguments of MessageFormat (`{0}`) has its apostrophes doubled, its entry not.
"""

import re
from collections.abc import Iterator

from service.formats.encodings import UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import FileFormatError
from service.formats.messages import has_words, message_unit
from service.formats.string_files import (
    LanguageTag,
    LineCounter,
    SelectedKeys,
    Slot,
    StringFormat,
    join_keys,
    join_surrogates,
)
from service.text.icu_parser import has_branches

_LATIN_1 = "iso8859-1"
_LINE = re.compile(r"[ \t\f]*(?:([#!\r\n])|((?:[^\\\r\n]|\\(?:\r\n|.|\Z))+))", re.DOTALL)
_LINE_END = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_KEY = re.compile(r"(?:[^\\ \t\f:=]|\\(?:\r\n[ \t\f]*|[\r\n][ \t\f]*|.|\Z))*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*(?:[=:][ \t\f]*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(\r\n|[\r\n])[ \t\f]*|(.)|\Z)", re.DOTALL)
_BROKEN_LINE = re.compile(r"\\n\\(\r\n|\r|\n)([ \t\f]*)")
"""A line feed with a line end after it, which does not count."""
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_WRITTEN = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\\": "\\\\"}
_SPECIAL = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ARGUMENT = re.compile(r"\{\d{1,2}(?:,[^{}]*)?\}")
_CHOICE = re.compile(r"\{\d{1,2}\s*,\s*choice\s*,")
_SINGLE_APOSTROPHE = re.compile(r"(?<!')'(?!')")


class PropertiesFormat(StringFormat):
    """A file of properties; a selected key stands for those that begin with it and a dot, too."""

    def encoding_of(self, content: bytes) -> FileEncoding:
        """See `StringFormat`."""
        marked = encoding_from_mark(content)
        if marked is not None:
            return marked
        if content.isascii():
            return FileEncoding("ascii")
        try:
            content.decode()
        except UnicodeDecodeError:
            return FileEncoding(_LATIN_1)
        return FileEncoding(UTF_8)

    def encode(self, text: str, encoding: str) -> bytes:
        """See `StringFormat`; characters that the encoding lacks are escaped."""
        try:
            return text.encode(encoding)
        except UnicodeEncodeError:
            return b"".join(_encode_character(character, encoding) for character in text)

    def slots(self, text: str, selected: SelectedKeys) -> Iterator[Slot | LanguageTag]:
        """See `StringFormat`."""
        lines = LineCounter(text)
        at = 0
        while at < len(text):
            found = _LINE.match(text, at)
            if found is None or found[2] is None:
                line_end = _LINE_END.match(text, at)
                at = len(text) if line_end is None else max(line_end.end(), at + 1)
                continue
            slot = self._slot(text, *found.span(2), lines, selected)
            if slot is not None:
                yield slot
            at = found.end()

    def _slot(
        self, text: str, start: int, end: int, lines: LineCounter, selected: SelectedKeys
    ) -> Slot | None:
        """Return the slot of the line that begins at `start` with a key; None if its value stays."""
        location = f"line {lines.line_of(start)}"
        key = _KEY.match(text, start, end)
        key_end = start if key is None else key.end()
        separator = _SEPARATOR.match(text, key_end, end)
        start_of_value = key_end if separator is None else separator.end()
        name = join_keys("", _decode(text[start:key_end], location))
        raw = text[start_of_value:end]
        value = _decode(raw, location)
        if not selected.has(name) or not has_words(value) or _CHOICE.search(value):
            return None
        location = f"{location}, key {name}"
        doubles_apostrophes = (
            _ARGUMENT.search(value) is not None
            and not has_branches(value)
            and not _SINGLE_APOSTROPHE.search(value)
        )
        message = value.replace("''", "'") if doubles_apostrophes else value

        def render(translation: str) -> str:
            return _render(translation.replace("'", "''") if doubles_apostrophes else translation, raw)

        return Slot(start_of_value, end, message_unit(message, location, raw, render))


def _decode(text: str, location: str) -> str:
    def decoded(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        if found[3] == "u":
            raise FileFormatError(f"{location}: \\u is not followed by four hexadecimal digits; fix it")
        return _NAMED.get(found[3] or "", found[3] or "")

    return join_surrogates(_ESCAPE.sub(decoded, text))


def _render(text: str, raw: str) -> str:
    """Return a value; its lines are broken as those of its own value are."""
    lines = [_SPECIAL.sub(lambda found: _escaped(found[0]), line) for line in text.split("\n")]
    broken = _BROKEN_LINE.search(raw)
    line_end = "\\n" if broken is None else f"\\n\\{broken[1]}{broken[2]}"
    kept = lines if broken else [lines[0]]
    starts = [f"\\{line}" if line.startswith((" ", "\t", "\f")) else line for line in kept]
    return line_end.join([*starts, *lines[len(kept) :]])


def _escaped(character: str) -> str:
    return _WRITTEN.get(character) or f"\\u{ord(character):04x}"


def _encode_character(character: str, encoding: str) -> bytes:
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        units = character.encode("utf-16-be")
        return b"".join(b"\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
