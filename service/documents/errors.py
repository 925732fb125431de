"""Everything this room raises on purpose.

DocumentError
├─ UnknownFormat      its name ends in none that can be translated
├─ UnusableDocument   it cannot be read, or not be translated
├─ UnknownDocument    nothing is kept under this id, or not any more
└─ StoreFull          there is no room to keep it
"""

from dataclasses import dataclass

from dragoman.errors import DragomanError

MAX_SHOWN_NAME = 80


class DocumentError(DragomanError):
    """Root of the tree."""


@dataclass(eq=False)
class UnknownFormat(DocumentError):  # noqa: N818 -- says it without the suffix, as do those below
    """The name of a file does not tell of a format that can be translated."""

    file_name: str
    known: tuple[str, ...]
    """As in `.txt`."""

    def __str__(self) -> str:
        return (
            f"{_shown(self.file_name)} is no file that can be translated; known are {', '.join(self.known)}"
        )


@dataclass(eq=False)
class UnusableDocument(DocumentError):  # noqa: N818 -- as above
    """A document cannot be read, or there is something in it that cannot be translated."""

    file_name: str
    problem: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return f"{_shown(self.file_name)}: {self.problem}"


@dataclass(eq=False)
class UnknownDocument(DocumentError):  # noqa: N818 -- as above
    """There is nothing of this id: it never was, it was fetched, or its time is over."""

    def __str__(self) -> str:
        return "there is no such document; it was fetched already, or kept for its time"


@dataclass(eq=False)
class StoreFull(DocumentError):  # noqa: N818 -- as above
    """Nothing of the document was kept."""

    problem: str

    def __str__(self) -> str:
        return f"the document cannot be kept: {self.problem}"


def _shown(file_name: str) -> str:
    return ascii(file_name if len(file_name) <= MAX_SHOWN_NAME else f"...{file_name[-MAX_SHOWN_NAME:]}")
