"""Base of files of strings: parts of a text are replaced, and everything else stays.

Such files are read whole: they are what people write and programs load at once.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO

from service.formats.encodings import UTF_8, FileEncoding, encoding_from_mark
from service.formats.entries import FileFormatError, TargetText
from service.formats.parts import TextFormat, TextPart, TextUnit, decode, encode, end, entries_of, written

MAX_PATH_CHARACTERS = 1000
"""Maximum length of a key with those around it: each entry repeats it."""


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A part of the text with a unit in its place; an empty part is where the file lacks one."""

    start: int
    end: int
    unit: TextUnit


@dataclass(frozen=True, slots=True)
class LanguageTag:
    """A part of the text that names its language."""

    start: int
    end: int
    renamed: str
    """Replacement of it once a text changed."""


class StringFormat(TextFormat):
    """Base of formats whose slots replace parts of a text."""

    @abstractmethod
    def slots(self, text: str, selected: "SelectedKeys") -> Iterator[Slot | LanguageTag]:
        """Yield what is replaced, in order, in the texts under the selected keys."""

    def _slots(self, text: str) -> Iterator[Slot | LanguageTag]:
        selected = SelectedKeys(self.options.columns)
        yield from self.slots(text, selected)
        selected.check_all_found()

    def encoding_of(self, content: bytes) -> FileEncoding:
        """Return the encoding of a file, by default the one of its byte order mark, else UTF-8."""
        return encoding_from_mark(content) or FileEncoding(UTF_8)

    def encode(self, text: str, encoding: str) -> bytes:
        """Encode text for a file in an encoding.

        Raises:
            FileFormatError: the encoding lacks a character.
        """
        return encode(text, encoding)

    def parse(self, source: IO[bytes]) -> tuple[Iterable[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        _, text, encode_text = self._decode(source.read())
        return parts_around(text, self._slots(text)), encode_text

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`. Tags of the language change only if a text did."""
        mark, text, encode_text = self._decode(source.read())
        slots = list(self._slots(text))
        unchanged = [entry.text for entry in entries_of(parts_around(text, slots))]
        given = list(texts)
        remaining = iter(given)
        is_renamed = [each.text for each in given] != unchanged
        pieces = list(written(parts_around(text, slots, is_renamed=is_renamed), remaining))
        end(remaining)
        target.write(mark + encode_text("".join(pieces)))

    def _decode(self, content: bytes) -> tuple[bytes, str, Callable[[str], bytes]]:
        found = self.encoding_of(content)
        text = decode(content[len(found.byte_order_mark) :], found.encoding)
        return found.byte_order_mark, text, partial(self.encode, encoding=found.encoding)


def parts_around(
    text: str, slots: Iterable[Slot | LanguageTag], *, is_renamed: bool = False
) -> Iterator[TextPart]:
    """Yield a text in parts: the units of its slots, and what is between."""
    at = 0
    for slot in slots:
        yield text[at : slot.start]
        if isinstance(slot, Slot):
            yield slot.unit
        else:
            yield slot.renamed if is_renamed else text[slot.start : slot.end]
        at = slot.end
    yield text[at:]


class LineCounter:
    """Numbers of the lines of positions in a text, which must ascend."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line = 0, 1

    def line_of(self, at: int) -> int:
        """Return the number of the line of a position, from 1."""
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


def join_keys(path: str, name: str) -> str:
    """Return the path of a key within others.

    Raises:
        FileFormatError: it is too long.
    """
    joined = f"{path}.{name}" if path else name
    if len(joined) > MAX_PATH_CHARACTERS:
        raise FileFormatError(
            f"{joined[:40]!a}...: a key with those around it is longer than {MAX_PATH_CHARACTERS:,} "
            "characters; shorten it"
        )
    return joined


class SelectedKeys:
    """Keys whose texts are translated: those of the options and all within them; without any, all keys."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._missing = set(columns)

    def has(self, path: str) -> bool:
        """Return whether the text under a path of keys is translated."""
        found = [column for column in self._columns if path == column or path.startswith(f"{column}.")]
        self._missing.difference_update(found)
        return bool(found) or not self._columns

    def check_all_found(self) -> None:
        """Check that each key of the options was there.

        Raises:
            FileFormatError: no text has one of them.
        """
        if self._missing:
            names = ", ".join(column for column in self._columns if column in self._missing)
            raise FileFormatError(f"no text has the key {names}; choose keys of the file, or none for all")


def join_surrogates(text: str) -> str:
    """Return a text in which pairs of surrogates, from escapes of UTF-16, are single characters."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
