"""Interface of all file formats: read the entries of a file, and write the file with their translations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from service.errors import ServiceError
from service.text.marked_text import Mark, MarkedText, Object
from service.text.outcome import TextOrigin


class FileFormatError(ServiceError):
    """Raised when a file cannot be read or written."""

    MESSAGE = "{problem}"
    problem: str
    """Description of the fault, its position and a remedy, without the name of the file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text of a file that is translated on its own."""

    text: str
    location: str
    """Human-readable location: `line 12`, `row 5, column title`, `paragraph 3`."""
    is_message: bool = False
    """Whether it is a text of a user interface: it may have an accelerator key, and its translation must pass
    all checks."""
    marks: tuple[Mark, ...] = ()
    """Marks and objects of a text that is not plain; see `MarkedText`."""
    objects: tuple[Object, ...] = ()

    @property
    def marked(self) -> MarkedText:
        """The text with its marks and objects."""
        return MarkedText(self.text, self.marks, self.objects)


def entry_of(marked: MarkedText, location: str, *, is_message: bool = False) -> Entry:
    """Return the entry of a text."""
    return Entry(marked.text, location, is_message, marked.marks, marked.objects)


@dataclass(frozen=True, slots=True)
class TargetText:
    """The text for an entry, and what a file may say about it to reviewers."""

    marked: MarkedText
    origin: TextOrigin | None = None
    """Origin that a mark names; None for no mark."""
    confidence: float | None = None
    """None if it is not to be written."""

    @property
    def text(self) -> str:
        return self.marked.text


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options for reading and writing a file, apart from its name."""

    source: str
    """BCP-47 code of the entries' language."""
    target: str
    """BCP-47 code of the target language."""
    columns: tuple[str, ...] = ()
    """Columns of tables, or keys of JSON lines, to translate; empty for the format's default."""
    output: str = ""
    """Suffix of the file to write, if the format is written as another; empty for the format's default."""
    join_lines: bool = False
    """Whether the lines of each paragraph of plain text are one entry, wrapped throughout or not."""
    max_bytes: int | None = None
    """Maximum bytes that a compressed file or an archive may unpack to, if less than its format allows."""


class FileFormat(Protocol):
    """A file format with its options. It holds no state of any single file.

    Both methods parse a file in the same way: `write` takes exactly one text for each entry that `read`
    yields, in order, and writes everything else as it was. If each text equals its entry, the file comes back
    as it was, byte for byte where the format allows.
    """

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """Yield the entries, lazily for line-based files and tables, which may be of any size.

        Args:
            source: seekable file at its beginning.

        Raises:
            FileFormatError: the file is not of this format, damaged or unsafe.
        """
        ...

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """Write the file with texts in place of its entries.

        Args:
            source: the file that `read` read, at its beginning, seekable.
            texts: one for each entry, consumed lazily.
            target: written from its beginning; need not be seekable.

        Raises:
            FileFormatError: as for `read`, or the file's encoding cannot represent a text.
        """
        ...
