"""All errors that the engine raises on purpose.

DragomanError
├─ InputError           the caller can fix it: names the item, the field, the limit
│  └─ UnsupportedPair   the bundle does not translate between these languages
├─ BundleError          the operator must fix it: names the bundle and every bad file or field
├─ ProviderError        the operator must fix it: the execution provider cannot run the graphs
├─ KernelsError         the operator must fix it: the required kernels cannot run the graphs
├─ Overloaded           the queue is full: the caller may retry later
├─ MemoryBudgetExceeded  bundles in use leave no memory for another one: the caller may retry later
├─ DeadlineExceeded     the caller's own time limit passed first
├─ TranslationCancelled  the caller cancelled the work itself
└─ TranslatorClosed     the translator was closed before the text was done
"""

from dataclasses import dataclass


class DragomanError(Exception):
    """Base class of the engine's errors."""


@dataclass(eq=False)
class InputError(DragomanError):
    """Invalid input of a caller."""

    field: str
    """Name of the parameter: `text`, `beam_size`, ..."""
    problem: str
    """The fault, the limit, and a remedy."""
    item: int | None = None
    """Index in the caller's list of texts, from 0; None if there is no list."""

    def __str__(self) -> str:
        where = self.field if self.item is None else f"{self.field}[{self.item}]"
        return f"{where}: {self.problem}"


class UnsupportedPair(InputError):  # noqa: N818 -- clear without the suffix
    """No translation between these languages."""


@dataclass(eq=False)
class BundleError(DragomanError):
    """A bundle cannot be opened."""

    bundle: str
    problems: tuple[str, ...]
    """All problems, each with its file or field."""

    def __str__(self) -> str:
        return f"bundle {self.bundle}: " + "; ".join(self.problems)


@dataclass(eq=False)
class ProviderError(DragomanError):
    """A requested execution provider cannot be used. There is no fallback."""

    provider: str
    """Name of the provider, as requested."""
    problem: str
    """The fault, what is available, and a remedy."""

    def __str__(self) -> str:
        return f"provider {self.provider!r} {self.problem}"


@dataclass(eq=False)
class KernelsError(DragomanError):
    """The requested kernels cannot run a bundle."""

    kernels: str
    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.path}: the {self.kernels} kernels cannot run this bundle: {self.problem};"
            " choose `auto` or `onnxruntime`"
        )


@dataclass(eq=False)
class Overloaded(DragomanError):  # noqa: N818 -- clear without the suffix
    """The queue is full; no part of the text was queued."""

    num_waiting: int
    """Number of waiting segments."""
    queue_size: int
    """Maximum number of waiting segments."""
    num_sources: int
    """Number of segments of the rejected text."""
    num_of_owner: int = 0
    """Waiting segments of the same caller, who may have half of the queue; 0 if callers are not known."""

    def __str__(self) -> str:
        share = f" ({self.num_of_owner} of them yours)" if self.num_of_owner else ""
        return (
            f"{self.num_waiting} segments are queued{share}, and {self.num_sources} more exceed the limit of "
            f"{self.queue_size} (three quarters for large requests, half for one caller); try again later"
        )


@dataclass(eq=False)
class MemoryBudgetExceeded(DragomanError):  # noqa: N818 -- clear without the suffix
    """Bundles in use left no memory for another one in time; no part of the text was queued."""

    model: str
    needed_bytes: int
    """Estimated memory of the bundle."""
    budget_bytes: int
    """Limit of all bundles together."""

    def __str__(self) -> str:
        return (
            f"model {self.model} needs about {self.needed_bytes} bytes of memory, and the models in use "
            f"leave less of the budget of {self.budget_bytes}; try again later"
        )


@dataclass(eq=False)
class DeadlineExceeded(DragomanError):  # noqa: N818 -- clear without the suffix
    """A text was not done within its time limit; its work was cancelled."""

    timeout_s: float

    def __str__(self) -> str:
        return (
            f"the translation did not finish within {self.timeout_s:g} s; allow more time, or send less text"
        )


class TranslationCancelled(DragomanError):  # noqa: N818 -- clear without the suffix
    """The caller's `is_cancelled` returned true; its work was cancelled."""


class TranslatorClosed(DragomanError):  # noqa: N818 -- clear without the suffix
    """The translator was closed before or during the call."""
