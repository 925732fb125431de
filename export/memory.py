"""Memory use of this process."""

import sys


def peak_bytes() -> int | None:
    """Return the peak resident memory in bytes, including touched pages of mapped files; None if unknown."""
    try:
        import resource  # noqa: PLC0415 -- not on every platform
    except ModuleNotFoundError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
