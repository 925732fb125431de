"""The memory of a command is that of the largest of its processes."""

import sys

import pytest

from bench.processes import run_process

LARGE_BYTES = 150 * 2**20
HOLD = f"import time; held = bytearray(b'x' * {LARGE_BYTES}); time.sleep(0.5)"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}], check=True)"


@pytest.mark.parametrize("code", [HOLD, START], ids=["its own", "of a process that it starts"])
def test_the_peak_is_that_of_the_largest_process(code: str) -> None:
    measured = run_process(sys.executable, "-c", code)

    assert 2 * LARGE_BYTES <= measured.peak_bytes < 3 * LARGE_BYTES  # the bytes and their copy
