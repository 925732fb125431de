"""Everything the engine raises on purpose.

DragomanError
├─ InputError           the caller can fix it: names the item, the field, the limit
│  └─ UnsupportedPair   the bundle does not translate between these languages
├─ BundleError          the operator must fix it: names the bundle and every file or field at fault
├─ ProviderError        the operator must fix it: graphs cannot run on what they were to run on
├─ Overloaded           too much is waiting already: the caller may come back later
├─ NoRoom               bundles in use leave no memory for another one: the caller may come back later
├─ DeadlineExceeded     the caller's own time limit passed first
└─ TranslatorClosed     the translator was closed before the text was done
"""

from dataclasses import dataclass


class DragomanError(Exception):
    """Root of the tree."""


@dataclass(eq=False)
class InputError(DragomanError):
    """Something a caller sent cannot be used."""

    field: str
    """What the caller named: `text`, `beam_size`, ..."""
    problem: str
    """What is wrong, the limit, and what to do."""
    item: int | None = None
    """Position in the caller's list of texts, from 0; None where there is no list."""

    def __str__(self) -> str:
        where = self.field if self.item is None else f"{self.field}[{self.item}]"
        return f"{where}: {self.problem}"


class UnsupportedPair(InputError):  # noqa: N818 -- says it without the suffix
    """No translation between these languages."""


@dataclass(eq=False)
class BundleError(DragomanError):
    """A bundle cannot be opened."""

    bundle: str
    problems: tuple[str, ...]
    """All of them, each naming its file or field."""

    def __str__(self) -> str:
        return f"bundle {self.bundle}: " + "; ".join(self.problems)


@dataclass(eq=False)
class ProviderError(DragomanError):
    """An execution provider that was asked for cannot be used. Nothing runs in its place."""

    provider: str
    """As it was asked for."""
    problem: str
    """What is wrong, what there is, and what to do."""

    def __str__(self) -> str:
        return f"provider {self.provider!r} {self.problem}"


@dataclass(eq=False)
class Overloaded(DragomanError):  # noqa: N818 -- says it without the suffix
    """The waiting queue has no room; nothing of the text was taken."""

    num_waiting: int
    """Segments that wait."""
    queue_size: int
    """Segments that may wait."""
    num_sources: int
    """Segments of the text that was refused."""
    num_of_owner: int = 0
    """Of those that wait, the caller's own, who may have half of the queue; 0 where callers are not known."""

    def __str__(self) -> str:
        own = f", {self.num_of_owner} of them yours" if self.num_of_owner else ""
        return (
            f"{self.num_waiting} segments wait{own} and at most {self.queue_size} may (large requests three "
            f"quarters of them, one caller half), so there is no room for {self.num_sources} more; try again "
            "later"
        )


@dataclass(eq=False)
class NoRoom(DragomanError):  # noqa: N818 -- says it without the suffix
    """Bundles in use left no memory for another one in time; nothing of the text was taken."""

    model: str
    needed_bytes: int
    """That the bundle is reckoned to take."""
    budget_bytes: int
    """That all bundles together may take."""

    def __str__(self) -> str:
        return (
            f"model {self.model} takes about {self.needed_bytes} bytes of memory, and those in use leave no "
            f"room for it in the budget of {self.budget_bytes}; try again later"
        )


@dataclass(eq=False)
class DeadlineExceeded(DragomanError):  # noqa: N818 -- says it without the suffix
    """A text was not done within its time limit; its work was given up."""

    timeout_s: float

    def __str__(self) -> str:
        return f"the translation was not done within {self.timeout_s:g} s; allow more time or send less text"


class TranslatorClosed(DragomanError):  # noqa: N818 -- says it without the suffix
    """The translator was closed before, or while, this was asked of it."""
