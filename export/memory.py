"""Memory use of this process."""

import resource
import sys


def peak_bytes() -> int:
    """Return the peak resident memory in bytes, including pages of mapped files that were touched."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
