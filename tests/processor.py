"""What the processor that runs the tests can do."""

import platform
from pathlib import Path

import pytest

CPU_INFO = Path("/proc/cpuinfo")


def has_vnni() -> bool:
    """Return whether int8 products are exact and 4-bit ones do not depend on the number of rows.

    Other processors than x86-64 are not known to differ.
    """
    if platform.machine() != "x86_64":
        return True
    return CPU_INFO.exists() and "vnni" in CPU_INFO.read_text(encoding="utf8")


def require_exact_rows(precision: str) -> None:
    """Skip a test of equality to the last bit that `precision` does not keep on this processor."""
    if precision == "int4" and not has_vnni():
        pytest.skip("no VNNI: see docs/explanation/decisions/0008-four-bits-for-few-rows.md")
