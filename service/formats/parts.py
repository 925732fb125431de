"""A file as parts in their order: bytes that stay, and slots that hold an entry each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from service.formats.entries import Entry
from service.formats.errors import FileProblem

__all__ = ["Part", "Slot", "entries_of", "write_parts"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an entry stands."""

    entry: Entry
    own: bytes
    """How the file spells the entry's own text."""
    spell: Callable[[str], bytes]
    """How it would spell another one.

    Raises:
        UnicodeEncodeError: it is no Unicode.
    """


Part = bytes | Slot


def entries_of(parts: Iterable[Part]) -> Iterator[Entry]:
    """What is to be translated of a file."""
    return (part.entry for part in parts if isinstance(part, Slot))


def write_parts(parts: Iterable[Part], texts: Iterator[str], target: BinaryIO) -> None:
    """The file with a text in each slot. A slot that gets its entry's own text is written as it was.

    Raises:
        FileProblem: a text is no Unicode.
        ValueError: there are fewer texts than slots, or more.
    """
    for part in parts:  # not `writelines`, which files that compress do not have
        content = part if isinstance(part, bytes) else _spelled(part, next(texts, None))
        target.write(content)
    if next(texts, None) is not None:
        raise ValueError("more texts than entries")


def _spelled(slot: Slot, text: str | None) -> bytes:
    if text is None:
        raise ValueError(f"fewer texts than entries: none for {slot.entry.place}")
    if text == slot.entry.text:
        return slot.own
    try:
        return slot.spell(text)
    except UnicodeEncodeError as error:
        raise FileProblem(
            f"{slot.entry.place}: its translation cannot be written in UTF-8: character {error.start + 1} of"
            " it is a lone surrogate"
        ) from error
