"""What goes wrong between several bundles that would not with one."""

from dataclasses import dataclass

from dragoman.errors import DragomanError


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
