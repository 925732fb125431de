"""A description of the machine that a run used, for its record."""

import platform
from pathlib import Path

import torch

CPU_INFO = Path("/proc/cpuinfo")


def describe_machine(device: torch.device, threads: int) -> str:
    """Return, say, `AMD EPYC 9R14 (x86_64), 2 threads, torch 2.9.0`, after the GPU's name if there is one."""
    host = f"{_cpu_name()} ({platform.machine()}), {threads} threads, torch {torch.__version__}"
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, {host}"
    return host if device.type == "cpu" else f"{device.type}, {host}"


def _cpu_name() -> str:
    """Return the CPU's name from /proc/cpuinfo on Linux, from `platform` elsewhere."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "CPU"
