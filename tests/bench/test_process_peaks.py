"""The memory of a command and that of the processes that it starts are measured apart."""

import sys

import pytest

from bench.processes import run_process

LARGE_BYTES = 150 * 2**20
HOLD = f"import time; held = bytearray(b'x' * {LARGE_BYTES}); time.sleep(0.5)"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}], check=True)"


@pytest.mark.parametrize(("code", "large"), [(HOLD, "own"), (START, "children")])
def test_a_peak_is_counted_for_the_process_that_has_it(code: str, large: str) -> None:
    measured = run_process(sys.executable, "-c", code)

    peaks = {"own": measured.own_peak_bytes, "children": measured.children_peak_bytes}
    assert [name for name, peak_bytes in peaks.items() if peak_bytes >= LARGE_BYTES] == [large]
    assert measured.peak_bytes == max(peaks.values())
