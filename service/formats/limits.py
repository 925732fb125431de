"""Limits on the cost of reading one file, enforced by the operating system on a separate process."""

import sys
from dataclasses import dataclass
from importlib.util import find_spec

from service.formats.entries import FileFormatError

COSTLY_CPU_S = 0.1
"""CPU time in seconds from which a file is costly; most need less."""
CPU_STEP_BYTES = 2**24
"""File size for which `FileLimits.cpu_s` is granted once."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of one process that reads or writes one file."""

    memory_bytes: int = 2**30
    """Memory of the process, including interpreter and libraries (about 50 MiB)."""
    cpu_s: float = 60.0
    """CPU time in seconds for each started `CPU_STEP_BYTES` of the file."""
    timeout_s: float = 120.0
    """Maximum wall-clock time in seconds without an entry, a part of the output or the end."""
    waits_per_cpu_s: float = 16.0
    """Seconds for which the process may be waited for in total, for each second of CPU time that it may use,
    and `timeout_s` more: a process that sleeps uses no CPU time, one of low priority a sixteenth."""
    max_bytes: int | None = None
    """Maximum bytes that the file may unpack to, and entries and characters that it may have together; None
    for the limits of its format alone."""
    slice_cpu_s: float | None = None
    """CPU time in seconds after which the process ends, to be started again later; None for no such time.
    Either `COSTLY_CPU_S` or whole seconds."""

    def cpu_s_of(self, size_bytes: int) -> float:
        """Return the CPU time in seconds that a file of this size may use."""
        return self.cpu_s * (1 + size_bytes // CPU_STEP_BYTES)

    def wait_s_of(self, size_bytes: int) -> float:
        """Return the seconds for which the process of a file of this size may be waited for in total."""
        return self.timeout_s + self.waits_per_cpu_s * self.cpu_s_of(size_bytes)


class FileLimitError(FileFormatError):
    """A file exceeded a limit, so reading it was stopped."""


def can_limit_processes() -> bool:
    """Return whether this platform can limit a process: it has the module `resource`."""
    return find_spec("resource") is not None


def apply_limits(memory_bytes: int, cpu_s: float, max_bytes: int | None = None) -> None:
    """Limit memory, CPU time and the size of files of the calling process, and disable core dumps.

    Lower limits of its parent stay in force.
    """
    import resource  # noqa: PLC0415 -- not on every platform

    # On Linux, RLIMIT_DATA counts writable memory only; RLIMIT_AS also counts what allocators reserve.
    memory = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    whole_s = max(1, int(cpu_s))
    file_bytes = resource.RLIM_INFINITY if max_bytes is None else max_bytes
    for kind, soft, hard in (
        (memory, memory_bytes, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
        (resource.RLIMIT_CPU, whole_s, whole_s + 1),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        _, most = resource.getrlimit(kind)
        is_free = most == resource.RLIM_INFINITY
        resource.setrlimit(kind, (soft, hard) if is_free else (min(soft, most), min(hard, most)))
