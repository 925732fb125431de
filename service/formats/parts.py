"""Files as a sequence of parts: bytes that stay, and slots that hold one entry each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from service.formats.entries import Entry
from service.formats.errors import FileFormatError

__all__ = ["Part", "Slot", "entries_of", "write_parts"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Position of an entry in a file."""

    entry: Entry
    own: bytes
    """Bytes of the entry's own text in the file."""
    spell: Callable[[str], bytes]
    """Encodes another text for this file.

    Raises:
        UnicodeEncodeError: the text has a lone surrogate.
    """


Part = bytes | Slot


def entries_of(parts: Iterable[Part]) -> Iterator[Entry]:
    """Return the entries of a file."""
    return (part.entry for part in parts if isinstance(part, Slot))


def write_parts(parts: Iterable[Part], texts: Iterator[str], target: BinaryIO) -> None:
    """Write the file with a text in each slot. If the text equals the entry, the slot keeps its bytes.

    Raises:
        FileFormatError: a text has a lone surrogate.
        ValueError: there are fewer texts than slots, or more.
    """
    for part in parts:  # not `writelines`, which compressing files lack
        content = part if isinstance(part, bytes) else _slot_bytes(part, next(texts, None))
        target.write(content)
    if next(texts, None) is not None:
        raise ValueError("more texts than entries")


def _slot_bytes(slot: Slot, text: str | None) -> bytes:
    if text is None:
        raise ValueError(f"fewer texts than entries: none for {slot.entry.place}")
    if text == slot.entry.text:
        return slot.own
    try:
        return slot.spell(text)
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"{slot.entry.place}: its translation cannot be written in UTF-8: character {error.start + 1} of"
            " it is a lone surrogate"
        ) from error
