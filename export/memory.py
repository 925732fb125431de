"""How much memory this process has taken."""

import resource
import sys


def peak_bytes() -> int:
    """Most resident memory so far; what is mapped from files and was touched counts too."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
