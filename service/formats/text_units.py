"""Files as text that stays and units that hold entries; entries that depend on each other share a unit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from service.formats.entries import Entry
from service.formats.errors import FileFormatError


@dataclass(frozen=True, slots=True, eq=False)
class TextUnit:
    """A part of a file that holds entries."""

    entries: tuple[Entry, ...]
    spell: Callable[[Sequence[str]], str]
    """Returns the part as the file writes it with other texts, one for each entry."""
    own: str | None = None
    """The part with the entries' own texts; None to call `spell` for these too, as in formats that store
    translations next to their sources."""

    def write(self, texts: Sequence[str]) -> str:
        """Return the part with texts, one for each entry."""
        if self.own is not None and all(
            text == entry.text for text, entry in zip(texts, self.entries, strict=True)
        ):
            return self.own
        return self.spell(texts)


def entries_of(parts: Iterable[str | TextUnit]) -> Iterator[Entry]:
    """Yield the entries of all parts, in order."""
    for part in parts:
        if isinstance(part, TextUnit):
            yield from part.entries


def written(parts: Iterable[str | TextUnit], texts: Iterator[str]) -> Iterator[str]:
    """Yield all parts, with a text consumed for each entry.

    Raises:
        ValueError: there are fewer texts than entries.
    """
    for part in parts:
        yield part if isinstance(part, str) else part.write(taken(texts, len(part.entries)))


def taken(texts: Iterator[str], num_texts: int) -> list[str]:
    """Take the next `num_texts` texts.

    Raises:
        ValueError: fewer are left.
    """
    found = list(islice(texts, num_texts))
    if len(found) < num_texts:
        raise ValueError(f"{num_texts} texts are required, but only {len(found)} are left")
    return found


def end(texts: Iterator[str]) -> None:
    """Check that all texts were consumed.

    Raises:
        ValueError: more texts than entries.
    """
    if next(texts, None) is not None:
        raise ValueError("more texts than entries")


def joined(parts: Sequence[str | TextUnit]) -> TextUnit:
    """Join parts into one unit."""
    entries = tuple(entries_of(parts))
    owns = [part if isinstance(part, str) else part.own for part in parts]
    kept = [own for own in owns if own is not None]
    return TextUnit(
        entries,
        lambda texts: "".join(written(parts, iter(texts))),
        "".join(kept) if len(kept) == len(owns) else None,
    )


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
