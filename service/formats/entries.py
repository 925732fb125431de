"""What every kind of file is to a job: entries in an order, and a file written with others in their place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from service.formats.errors import FileProblem
from service.markup.options import MarkupOptions

__all__ = ["Entry", "FileFormat", "FileOptions", "FileProblem"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a file, translated by itself."""

    text: str
    place: str
    """Where it stands, for people: `line 12`, `row 5, column title`, `paragraph 3`."""
    markup: MarkupOptions | None = None
    """What the text is marked up in; None for plain text."""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """What a file is read and written with, beside its name."""

    source: str
    """BCP-47 code of the language that entries are in."""
    target: str
    """BCP-47 code of the language they are translated to."""
    columns: tuple[str, ...] = ()
    """Of tables, and keys of JSON lines, that are translated; none for the format's own default."""


class FileFormat(Protocol):
    """A kind of file, opened with its options. It holds no state of any one file.

    Both methods read a file the same way: `write` takes exactly one text for each entry that `read` gives, in
    their order, and writes all else as it was. With every entry's own text, the file comes back as it was,
    byte for byte where the format allows.
    """

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """Entries, lazily for files of lines and tables, which may be of any size.

        Args:
            source: at its beginning, seekable.

        Raises:
            FileProblem: the file is not what it is taken for, is damaged or is unsafe.
        """
        ...

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """The same file with texts in the place of its entries.

        Args:
            source: what `read` read, at its beginning, seekable.
            texts: one for each entry; taken lazily.
            target: written from its beginning; need not be seekable.

        Raises:
            FileProblem: as `read`, or a text cannot be written in the file's encoding.
        """
        ...
