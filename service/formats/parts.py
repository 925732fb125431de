"""Files as a sequence of parts: content that stays, and units that hold entries."""

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

from service.formats.entries import Entry, FileFormatError, FileOptions, TargetText

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Content = TypeVar("Content", str, bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Unit(Generic[Content]):
    """A part of a file that holds entries; entries that depend on each other share a unit."""

    entries: tuple[Entry, ...]
    render: Callable[[Sequence[TargetText]], Content]
    """Returns the part as the file writes it with other texts, one for each entry."""
    raw: Content | None = None
    """The part as the file has it; None to call `render` for these too, as in formats that store
    translations next to their sources."""

    def write(self, texts: Sequence[TargetText]) -> Content:
        """Return the part with texts, one for each entry.

        Raises:
            FileFormatError: a text has a lone surrogate.
        """
        if self.raw is not None and all(
            text.text == entry.text for text, entry in zip(texts, self.entries, strict=True)
        ):
            return self.raw
        try:
            return self.render(texts)
        except UnicodeEncodeError as error:
            raise surrogate_error(self.entries[0].location, error) from error


TextUnit = Unit[str]
Part = bytes | Unit[bytes]
TextPart = str | TextUnit


def slot(entry: Entry, raw: bytes, render: Callable[[str], bytes]) -> Unit[bytes]:
    """Return the unit of a single entry."""
    return Unit((entry,), lambda texts: render(texts[0].text), raw)


def surrogate_error(location: str, error: UnicodeEncodeError) -> FileFormatError:
    """Return the error for a translation that UTF-8 cannot encode."""
    return FileFormatError(
        f"{location}: its translation cannot be written in UTF-8: character {error.start + 1} of it is a "
        "lone surrogate"
    )


def entries_of(parts: Iterable[Content | Unit[Content]]) -> Iterator[Entry]:
    """Yield the entries of all parts, in order."""
    for part in parts:
        if isinstance(part, Unit):
            yield from part.entries


def written(parts: Iterable[Content | Unit[Content]], texts: Iterator[TargetText]) -> Iterator[Content]:
    """Yield all parts, with a text consumed for each entry.

    Raises:
        FileFormatError: a text has a lone surrogate.
        ValueError: there are fewer texts than entries.
    """
    for part in parts:
        if not isinstance(part, Unit):
            yield part
            continue
        found = list(islice(texts, len(part.entries)))
        if len(found) < len(part.entries):
            raise ValueError(f"fewer texts than entries: none for {part.entries[len(found)].location}")
        yield part.write(found)


def end(texts: Iterator[TargetText]) -> None:
    """Check that all texts were consumed.

    Raises:
        ValueError: more texts than entries.
    """
    if next(texts, None) is not None:
        raise ValueError("more texts than entries")


def joined(parts: Sequence[TextPart]) -> TextUnit:
    """Join parts into one unit."""
    raw_parts = [part if isinstance(part, str) else part.raw for part in parts]
    kept = [raw for raw in raw_parts if raw is not None]
    return Unit(
        tuple(entries_of(parts)),
        lambda texts: "".join(written(parts, iter(texts))),
        "".join(kept) if len(kept) == len(raw_parts) else None,
    )


class _PartsFormat(ABC, Generic[Content]):
    """Base of formats that are a sequence of parts."""

    def __init__(self, options: FileOptions) -> None:
        """Store the options of the file."""
        self.options = options

    @abstractmethod
    def parse(self, source: BinaryIO) -> tuple[Iterable[Content | Unit[Content]], Callable[[Content], bytes]]:
        """Return the parts of a seekable file, and a function that encodes them."""

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(self.parse(source)[0])

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        parts, encode = self.parse(source)
        target.writelines(encode(part) for part in written(parts, texts))
        end(texts)


class TextFormat(_PartsFormat[str]):
    """Base of formats whose parts are text in the encoding of the file."""


class BytesFormat(_PartsFormat[bytes]):
    """Base of formats whose parts are bytes."""

    def parse(self, source: BinaryIO) -> tuple[Iterable[Part], Callable[[bytes], bytes]]:
        return self.parts(source), bytes

    @abstractmethod
    def parts(self, source: BinaryIO) -> Iterator[Part]:
        """Yield the parts of a file lazily; it need not be seekable."""


class ChunkReader(io.RawIOBase):
    """A file that consists of chunks, which are taken lazily."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        taken, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


def decode(content: bytes, encoding: str) -> str:
    """Decode the content of a file.

    Raises:
        FileFormatError: it is in another encoding.
    """
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        problem = f"it is not in {encoding}: byte {error.start} (counted from 0): {error.reason}"
        raise FileFormatError(f"{problem}; save it in UTF-8") from error


def encode(text: str, encoding: str) -> bytes:
    """Encode text for a file.

    Raises:
        FileFormatError: the encoding lacks a character.
    """
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        problem = f"{text[error.start : error.end]!a} of a translation cannot be written in {encoding}"
        raise FileFormatError(f"{problem}; save the file in UTF-8 and translate it again") from error
