"""Everything the engine raises on purpose.

DragomanError
├─ InputError           the caller can fix it: names the item, the field, the limit
│  └─ UnsupportedPair   the bundle does not translate between these languages
└─ BundleError          the operator must fix it: names the bundle and every file or field at fault
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
