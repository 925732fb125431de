"""What the processor that runs the tests can do."""

import ctypes
import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def has_vnni() -> bool:
    """Return whether int8 products are exact.

    Other processors than x86-64 are not known to differ.
    """
    if platform.machine() != "x86_64":
        return True
    return CPU_INFO.exists() and "vnni" in CPU_INFO.read_text(encoding="utf8")


def x86_kernels() -> list[str]:
    """Return the names of the engine's kernels that an x86-64 processor can run, the best first."""
    known = {
        "amx-int8": {"amx_tile", "amx_int8", "avx512_vnni", "avx512vl", "avx512bw"},
        "avx512-vnni": {"avx512_vnni", "avx512vl", "avx512bw"},
        "avx-vnni": {"avx_vnni", "avx2", "fma"},
        "avx2": {"avx2", "fma"},
    }
    flags = set(CPU_INFO.read_text(encoding="utf8").split()) if CPU_INFO.exists() else set()
    if "amx_tile" in flags and not _may_use_tiles():
        flags -= {"amx_tile"}
    return [name for name, needed in known.items() if needed <= flags]


def _may_use_tiles() -> bool:
    """Ask Linux for the state of AMX, as the kernels do; some sandboxes refuse."""
    arch_prctl, ask_for_state, tile_data = 158, 0x1023, 18
    return not ctypes.CDLL(None).syscall(arch_prctl, ask_for_state, tile_data)
